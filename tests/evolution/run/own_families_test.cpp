// Searches among kernels of a family that the host brings as texts in memory.
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/run_report.hpp>
#include <cupilot/parts/tunable.hpp>

#include "catch.hpp"
#include "evolution/hooked.hpp"
#include "evolution/program/support.hpp"
#include "support/sim_host.hpp"

namespace cupilot::testing {
namespace {

// A template of family `doubled`, with one line to break.
std::string doubling(const std::string& line = "if (i < n) y[i] = x[i] + x[i];") {
  return R"cu(/* cupilot tunable 1
{"name": "doubled_blocks", "family": "doubled", "summary": "some elements a thread",
 "parameters": {"THREADS": {"name": "block_threads", "domain": [64, 128, 256], "plain": 64}},
 "registers": "16",
 "plan": {"launches": [{"entry": "doubled", "grid": ["cdiv(n, THREADS)"], "block": ["THREADS"],
                        "args": ["x", "y", {"i32": "n"}]}]}}
*/
extern "C" __global__ void doubled(const T_x* x, T_y* y, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  )cu" + line +
         "\n}\n";
}

const char* const recipe = R"json({"cupilot_family": 1, "name": "doubled",
  "words": [{"name": "n", "kind": "size", "default": 300}],
  "task": {"cupilot_task": 1, "name": "doubled", "axes": [{"name": "n"}],
    "tensors": [{"name": "x", "role": "in", "type": "fp32", "shape": ["n"]},
      {"name": "y", "role": "out", "type": "fp32", "shape": ["n"]}],
    "precision": "fp32-strict", "time_shapes": [{"sizes": {"n": "$n"}}], "work": {"flops": "n"},
    "reference": "doubled.cu"}})json";

const char* const techniques = R"json({"cupilot_techniques": 1, "techniques": [
 {"name": "threads_of_a_block", "summary": "s", "sentence": "Use threads threads.",
  "parameters": [{"name": "threads", "domain": [64, 128, 256], "default": 64}],
  "targets": ["dram"]}]})json";

Families with(std::map<std::string, std::string> texts) {
  texts["family.json"] = recipe;
  texts["doubled.cu"] =
      "__device__ real reference_y(const Inputs& in, long long i) { return in.x(i) + in.x(i); }\n";
  auto family = family_from("mine", texts);
  REQUIRE_OK(family);
  Families families = builtin_families();
  REQUIRE_OK(add_family(std::move(*family), families));
  return families;
}

Result<EvolveReport> search(const Families& families, const std::string& run_dir,
                            KernelWriter* writer = nullptr, SearchObserver* observer = nullptr,
                            double seconds = 0) {
  const auto task = task_from_words({"doubled", "n=200"}, families);
  REQUIRE_OK(task);
  EvolveOptions options = small_run(run_dir, 3);
  options.families = families;
  options.writer = writer;
  options.observer = observer;
  options.max_seconds = seconds;
  return evolve(*task, device(), options);
}

// A host's, which knows its family's techniques.
struct DoublingWriter : KernelWriter {
  std::optional<std::string> lacks(const Task&, const Strategy&) const override {
    return std::nullopt;
  }
  Attempt<KernelSource> write(const WriterBrief& brief) override {
    const auto tunable = parse_tunable(doubling(), "doubling");
    if (!tunable) return tunable.error();
    auto source = instantiate(*tunable, *brief.task, device().device(),
                              {{"THREADS", threads_of(*brief.strategy)}});
    if (!source) return source.error();
    return std::move(*source);
  }
  static std::int64_t threads_of(const Strategy& strategy) {
    return strategy.uses.empty() ? 64 : strategy.uses.front().values.at("threads");
  }
};

TEST_CASE("a search takes the templates of a family from memory", "[search][threads]") {
  const auto report = search(with({{"templates/blocks.cu", doubling()}}), "");
  REQUIRE_OK(report);
  REQUIRE(report->best);
  CHECK(report->best->candidate.source.template_name == "doubled_blocks");
  CHECK(report->part_seconds.contains("plain setting"));
}

TEST_CASE("a search takes a family's techniques alone, and the host's writer of them",
          "[search][threads]") {
  const Families families = with({{"techniques.json", techniques}});
  DoublingWriter writer;
  struct Heard : SearchObserver {
    std::set<std::string> techniques;
    void on_candidate(const Candidate& candidate) override {
      for (const Use& use : candidate.strategy.uses) techniques.insert(use.technique);
    }
  } heard;
  const auto report = search(families, "", &writer, &heard);
  REQUIRE_OK(report);
  REQUIRE(report->best);
  CHECK(heard.techniques == std::set<std::string>{"threads_of_a_block"});
  const Candidate& best = report->best->candidate;
  CHECK_THAT(best.source.text, Catch::Contains(fmt::format(
                                   "THREADS = {};", DoublingWriter::threads_of(best.strategy))));
  const auto nobody = search(families, "");
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error().code == ErrorCode::usage);
}

TEST_CASE("a run whose seconds went into the plain setting's proof says so", "[search][threads]") {
  const TempDir dir;
  const auto report =
      search(with({{"templates/blocks.cu", doubling()}}), dir / "run", nullptr, nullptr, 1e-3);
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::budget);
  CHECK_THAT(
      report.error().message,
      Catch::Contains("time spent after 0 evaluations without a valid candidate: proving the "
                      "plain setting took "));
  CHECK_THAT(report.error().hint, Catch::StartsWith("give some ") && Catch::Contains(" seconds"));
  const auto again = resume(dir / "run", device());
  REQUIRE_FALSE(again);
  CHECK(again.error().message == report.error().message);
}

TEST_CASE("a plain setting's proof tells what follows the search", "[search][threads]") {
  struct First : SearchObserver {
    double to_come = 0;  // as it was first told
    void on_activity(const Activity& activity) override {
      if (to_come == 0) to_come = activity.to_come_seconds;
    }
  } first;
  SimHost host(Rng(1));
  auto opened = open_backend("virtual:h200", kept_images());
  REQUIRE_OK(opened);
  Hooked slow(std::move(*opened));
  slow.on_run = [&](const CompiledKernel&, TrialReport&) { host.spend(20); };
  const Families families = with({{"templates/blocks.cu", doubling()}});
  const auto task = task_from_words({"doubled", "n=200"}, families);
  REQUIRE_OK(task);
  EvolveOptions options = small_run("", 4);
  options.families = families;
  options.observer = &first;
  options.host = &host;
  const auto report = evolve(*task, slow, options);
  REQUIRE_OK(report);
  CHECK(first.to_come == Approx(2 * report->part_seconds.at("plain setting")).epsilon(0.01));
}

TEST_CASE("a refusal of a family's template names its text and line", "[search][threads]") {
  const TempDir dir;
  const auto report =
      search(with({{"templates/blocks.cu", doubling("if (i < n) y[i] = z;")}}), dir / "run");
  REQUIRE_FALSE(report);
  CHECK_THAT(report.error().message,
             Catch::Contains("blocks.cu:10") &&
                 Catch::Contains("; mine/templates/blocks.cu:10: if (i < n) y[i] = z;"));
  const auto run = report_run(dir / "run");
  REQUIRE_OK(run);
  REQUIRE(run->summary.report.refusals.size() == 1);
  CHECK(run->summary.report.refusals[0].file == "mine/templates/blocks.cu");
  CHECK(run->summary.report.refusals[0].line == 10);
}

}  // namespace
}  // namespace cupilot::testing
