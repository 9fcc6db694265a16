// Why candidates were refused, told with the line of the user's own file.
#include "evolution/journal/refusals.hpp"

#include <fstream>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/run_report.hpp>

#include "catch.hpp"
#include "evolution/journal/ledger.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

constexpr const char* tunable = R"cu(/* cupilot tunable 1
{
  "name": "scale_rows", "family": "scaled",
  "parameters": {"THREADS": {"domain": [32, 64]}},
  "plan": {"launches": [{"entry": "scale", "grid": ["cdiv(n-2, THREADS)"], "block": ["THREADS"],
                         "args": ["x", "y", {"i64": "n"}]}]}
}
*/
// y = 2 x.
extern "C" __global__ void scale(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * THREADS + threadIdx.x;
  y[i] = 2 * x[i];
}
)cu";

// What a writer makes of it: lines of its own come first.
std::string kernel_text() {
  const std::string text = tunable;
  return "// written\n#define A\nconstexpr int THREADS = 32;\n" + text.substr(text.find("// y ="));
}

}  // namespace

TEST_CASE("a refusal names the line of the user's own file") {
  const TempDir dir;
  const std::string path = dir / "scale.cu";
  std::ofstream(path) << tunable;
  const OwnTemplates own = own_templates({path}, {path}, builtin_families());
  REQUIRE(own.size() == 1);
  struct Row {
    Rejected why;
    const char* template_name;
    int line;
    bool own;
    const char *source_line, *message;
  };
  const Row rows[] = {
      {reject("compile.error", "kernel.cu(7): error: no y"), "scale_rows", 12, true,
       "y[i] = 2 * x[i];", "scale.cu:12: error: no y"},
      {reject("run.race", "two threads", "ptx line 9, kernel.cu:6"), "scale_rows", 11, true,
       "const long long i = blockIdx.x * THREADS + threadIdx.x;", "two threads"},
      {reject("plan.expression", "`cdiv(n-2, THREADS)`, column 1: division"), "scale_rows", 5, true,
       "\"plan\": {\"launches\"", "`cdiv("},
      {reject("compile.error", "kernel.cu(3): error: 32"), "scale_rows", 3, false,
       "constexpr int THREADS = 32;", "kernel.cu(3)"},
      {reject("compile.error", "kernel.cu(7): error: no y"), "another", 7, false,
       "y[i] = 2 * x[i];", "kernel.cu(7)"},
      {reject("verify.bound", "128 of 4257 wrong"), "scale_rows", 0, false, "", "128 of 4257"},
      {reject("compile.error", "kernel.cu(700): error: far"), "scale_rows", 0, false, "",
       "kernel.cu(700)"},
      {reject("compile.error", "kernel.cu"), "scale_rows", 0, false, "", "kernel.cu"}};
  for (const Row& row : rows) {
    INFO(row.why.code << " " << row.why.message << " " << row.why.where);
    const FirstRefusal refusal{3, "scale 32", row.template_name, "", row.why};
    const Refusal told = explained(refusal, kernel_text(), own);
    CHECK(told.line == row.line);
    CHECK(told.file == (row.own ? path : ""));
    CHECK(told.source_line.find(row.source_line) == 0);
    CHECK(told.why.message.find(row.message) == 0);
    CHECK_FALSE(told.next.empty());
    const std::string all = sentence(told);
    CHECK(all.find("#3 (scale 32) " + row.why.code) == 0);
    CHECK((all.find(told.source_line) != std::string::npos));
  }
}

TEST_CASE("a refusal names the line of a device header of the user's own family") {
  const std::string header = "// Two numbers.\ninline float twice(float x) { return y + y; }\n";
  const std::string body = "extern \"C\" __global__ void scale() {}\n";
  const std::string begins =
      R"(/* cupilot tunable 1
{"name": "scale_rows", "family": "scaled", "parameters": {"THREADS": {"domain": [32, 64]}},
 "plan": {"launches": [{"entry": "scale", "grid": ["1"], "block": ["THREADS"], "args": []}]}}
*/
)";
  auto family =
      family_from("scaled", {{"templates/scale.cu", begins + body}, {"device/twice.cuh", header}});
  REQUIRE_OK(family);
  family->origin = "folder";
  const OwnTemplates own = own_templates({}, {}, {*family});
  const std::string kernel = "// cupilot/other.cuh\nint a;\n// cupilot/twice.cuh\n" + header + body;
  struct Row {
    const char* message;
    const char* file;
    const char* told;
  };
  for (const Row& row :
       {Row{"kernel.cu(5): error: y", "folder/device/twice.cuh", "twice.cuh:2: error"},
        Row{"kernel.cu(6): error: y", "folder/templates/scale.cu", "scale.cu:5: error"},
        Row{"kernel.cu(2): error: y", "", "kernel.cu(2): error"}}) {
    INFO(row.message);
    const Refusal told = explained(
        {3, "scale 32", "scale_rows", "", reject("compile.error", row.message)}, kernel, own);
    CHECK(told.file == row.file);
    CHECK(told.why.message.find(row.told) == 0);
  }
}

TEST_CASE("a setting that fits no shape asks nothing of who did not write its template") {
  const TempDir dir;
  const std::string path = dir / "scale.cu";
  std::ofstream(path) << tunable;
  const OwnTemplates own = own_templates({path}, {path}, builtin_families());
  const auto next_of = [&](const char* name) {
    return explained({3, "scale 32", name, "", reject("verify.no_shape", "holds for none")},
                     kernel_text(), own)
        .next;
  };
  CHECK(next_of("scale_rows").find("loosen the plan's require") == 0);
  CHECK(next_of("another").find("nothing") == 0);
}

TEST_CASE("of each code the earliest candidate is kept, in whatever order they end") {
  FirstRefusals all;
  const auto met = [&](std::uint64_t id, const char* code) {
    return keep_first(all, {id, "", "", "", reject(code, std::to_string(id))});
  };
  CHECK(met(5, "run.race"));
  CHECK_FALSE(met(9, "run.race"));
  CHECK_FALSE(met(2, "run.race"));
  CHECK(met(1, "verify.bound"));
  CHECK(all.at("run.race").why.message == "2");
  const auto told = explained(all, real_host(), "", {});
  REQUIRE(told.size() == 2);
  CHECK(told[0].candidate == 1);
  CHECK(told[1].candidate == 2);
}

TEST_CASE("a search in which all is refused says why everywhere", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(
      dir, R"({"cupilot_landscape": 1, "kind": "additive", "variables": 12, "reject": 1})"));
  struct Heard : SearchObserver {
    std::vector<Refusal> all;
    void on_refusal(const Refusal& refusal) override { all.push_back(refusal); }
  } heard;
  EvolveOptions options = small_run(dir / "run", 6);
  options.observer = &heard;
  options.search.parallel = 1;
  const auto report = evolve(landscape_task(), *device, options);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::budget);
  CHECK(report.error().message.find("; #1 (") != std::string::npos);
  CHECK(report.error().hint == next_step(reject("verify.bound", "")));
  REQUIRE(heard.all.size() == 1);
  CHECK(heard.all[0].candidate == 1);
  const auto run = report_run(dir / "run");
  REQUIRE_OK(run);
  REQUIRE(run->summary.report.refusals.size() == 1);
  const Refusal& kept = run->summary.report.refusals[0];
  CHECK(kept.candidate == 1);
  CHECK(kept.why.message == heard.all[0].why.message);
  CHECK(kept.setting == heard.all[0].setting);
  CHECK(read_all(dir / "run/report.html").find("first met by") != std::string::npos);
  // Without a directory, too.
  options.run_dir.clear();
  options.observer = nullptr;
  const auto again = evolve(landscape_task(), *device, options);
  REQUIRE_FALSE(again);
  CHECK(again.error().message == report.error().message);
}

TEST_CASE("a checkpoint keeps what was refused first", "[threads]") {
  Ledger ledger;
  for (int slot = 0; slot < 3; ++slot) {
    Proposal proposal;
    proposal.slot = slot;
    ledger.propose(proposal);
    ResultRecord record;
    record.slot = slot;
    record.seconds = 2;
    record.candidate.outcome = reject("run.race", std::to_string(slot), "there");
    CHECK(ledger.settle(record) == (slot == 0));
  }
  Ledger restored;
  REQUIRE(restored.restore(ledger.saved().joined()));
  REQUIRE(restored.first_refusals().size() == 1);
  const FirstRefusal& first = restored.first_refusals().at("run.race");
  CHECK(first.candidate == 1);
  CHECK(first.why.message == "0");
  CHECK(first.why.where == "there");
  CHECK(first.why.stage == Stage::run);
  CHECK(restored.candidate_seconds() == 6);
  CHECK(restored.settled() == 3);
}
