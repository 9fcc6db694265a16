#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include <cupilot/parts/rejection.hpp>

#include "base/hash.hpp"
#include "catch.hpp"
#include "support/graph.hpp"
#include "support/reached.hpp"
#include "verify/plans.hpp"

namespace cupilot {
namespace {

// Two good cases, the second a probe at the task's own shape.
TrialReport good(const Task& task) {
  TrialReport report;
  for (const ContentKind kind : {ContentKind::ordinary, ContentKind::probe}) {
    CaseReport done;
    done.what = {.workload = task.time_shapes[0], .content = {.seed = 5, .kind = kind}};
    done.outputs = {
        {.tensor = "D", .elements = 35, .compared = 35, .worst_ratio = 0.25, .worst_index = 9}};
    report.cases.push_back(done);
  }
  return report;
}

CompiledKernel kernel_of(Precision ceiling) {
  CompiledKernel kernel;
  kernel.facts.ceiling = ceiling;
  return kernel;
}

TEST_CASE("good reports become evidence") {
  const Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  CaseReport skipped;
  skipped.what = report.cases[0].what;
  skipped.not_for_this_shape = true;
  report.cases.insert(report.cases.begin(), skipped);
  const auto proof = conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::elite, report);
  REQUIRE(proof);
  CHECK(proof->level == ProofLevel::elite);
  CHECK(proof->compared == 70);
  CHECK(proof->worst_ratio == 0.25);
  CHECK(proof->full_size);
  CHECK(proof->proved == Precision::fp32_strict);
  CHECK(proof->cases.size() == 3);
}

TEST_CASE("full size means every element of a time shape") {
  const Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  for (CaseReport& done : report.cases) done.outputs[0].compared = 30;
  CHECK_FALSE(
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::candidate, report)->full_size);
  report = good(task);
  for (CaseReport& done : report.cases) done.what.workload.sizes["m"] = 6;
  CHECK_FALSE(
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::candidate, report)->full_size);
}

TEST_CASE("a file whose bytes no case had as they are is not proved") {
  const std::string bytes(5 * 11 * 4, '\0');
  const auto path = std::filesystem::temp_directory_path() /
                    ("cupilot-conclude-" + std::to_string(::getpid()) + ".bin");
  std::ofstream(path, std::ios::binary) << bytes;
  Task task = gemm_of(5, 7, 11);
  const Fill file = {
      .kind = FillKind::file,
      .file = {path.string(), 0, static_cast<std::int64_t>(bytes.size()), sha256_hex(bytes)}};
  task.tensors[0].fill = file;
  const auto says = [&](const char* words, const TrialReport& report) {
    const auto proof = conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::elite, report);
    REQUIRE(proof);
    return std::any_of(proof->unproved.begin(), proof->unproved.end(),
                       [&](const std::string& line) { return line.find(words) != line.npos; });
  };
  const auto drawn = [&](const TrialReport& report) {
    return says("as they are: values were drawn from them at other shapes", report);
  };
  TrialReport report = good(task);
  CHECK_FALSE(drawn(report));
  report.cases[0].what.workload.sizes["m"] = 6;  // the other case is a probe
  CHECK(drawn(report));
  report = good(task);
  report.cases[0].what.sampled = true;
  CHECK(drawn(report));
  report = good(task);
  report.cases[0].what.content.variation = Variation::swapped;
  CHECK(drawn(report));

  const char* same = "timed launches read the same content";
  CHECK_FALSE(says(same, good(task)));
  for (Tensor& tensor : task.tensors) {
    if (tensor.role != Role::out)
      tensor.fill = tensor.fill.file.bytes > 0 ? file : Fill{.kind = FillKind::zeros};
  }
  CHECK(says(same, good(task)));
  std::filesystem::remove(path);
}

TEST_CASE("a time shape that neither ran nor was sampled is named by what was met") {
  const Task task = gemm_of(50, 7, 11);
  TrialReport report = good(task);
  const auto concluded = [&] {
    return conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::finalist, report);
  };
  CHECK(concluded()->up_to.empty());
  CHECK_FALSE(concluded()->sampled);
  for (CaseReport& done : report.cases) done.what.workload.sizes["m"] = 6;
  CHECK(concluded()->up_to == "batch 1, m 6, n 7, k 11");
  CaseReport blocks = report.cases[0];
  blocks.what.workload = task.time_shapes[0];
  blocks.what.sampled = true;
  report.cases.push_back(blocks);
  CHECK(concluded()->up_to.empty());
  CHECK(concluded()->sampled);
  CHECK_FALSE(concluded()->full_size);
  report.cases.back().not_for_this_shape = true;  // nothing was told
  CHECK_FALSE(concluded()->up_to.empty());
}

TEST_CASE("of several time shapes those that did not run in full are named") {
  Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  Workload large = task.time_shapes[0];
  large.sizes["m"] = 500;
  task.time_shapes.push_back(large);
  CaseReport blocks = report.cases[0];
  blocks.what.workload = large;
  blocks.what.sampled = true;
  report.cases.push_back(blocks);
  const auto proof =
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::finalist, report);
  REQUIRE(proof);
  CHECK_FALSE(proof->full_size);
  CHECK(proof->sampled);
  CHECK(std::any_of(proof->unproved.begin(), proof->unproved.end(), [](const std::string& line) {
    return line.find("the time shape batch=1 k=11 m=500 n=7 in full") != std::string::npos;
  }));
  report.cases.back().not_for_this_shape = true;  // blocks that told nothing
  CHECK_FALSE(
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::finalist, report)->full_size);
  report.cases.back().what.sampled = false;
  CHECK(conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::finalist, report)->full_size);
}

TEST_CASE("sizes met beyond the task's own claim no more than the task asks") {
  Task task = gemm_of(50, 7, 11);
  task.check_shapes.clear();
  TrialReport report = good(task);
  for (CaseReport& done : report.cases) done.what.workload.sizes["m"] = 6;
  report.cases[0].what.workload.sizes["k"] = 401;
  CHECK(conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::finalist, report)->up_to ==
        "batch 1, m 6, n 7, k 11");
  report.cases[0].outputs[0].failed = 1;
  const auto refused =
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::finalist, report);
  REQUIRE(refused.is_rejected());
  CHECK(refused.rejected().message.find("(the task's largest: k=11; `require`") !=
        std::string::npos);
}

TEST_CASE("cases that were left out are named, and those among the task's sizes in the headline") {
  Task task = gemm_of(50, 7, 11);
  task.check_shapes.clear();
  TrialReport report = good(task);
  const auto leave_out = [&](std::int64_t m, bool begun, bool named) {
    report.left_out.push_back({.what = {.workload = {{{"m", m}, {"n", 7}}, 1}},
                               .asked_by = "PTX line 12",
                               .reason = "it is dear",
                               .begun = begun,
                               .named = named});
  };
  const auto concluded = [&] {
    return *conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::finalist, report);
  };
  const auto says = [&](const std::string& line) {
    const auto all = concluded().unproved;
    return std::find(all.begin(), all.end(), line) != all.end();
  };
  CHECK(concluded().but_for.empty());
  leave_out(51, true, true);  // beyond the task
  leave_out(49, false, false);
  CHECK(concluded().but_for.empty());
  CHECK(says("not judged: m=51 n=7, asked for by PTX line 12: it is dear"));
  CHECK(says("not run: m=49 n=7, asked for by PTX line 12: it is dear"));
  leave_out(20, true, false);
  CHECK(concluded().but_for == "m=20 n=7");
  leave_out(21, false, true);
  CHECK(concluded().but_for == "m=20 n=7; m=21 n=7");
  leave_out(22, false, false);
  CHECK(says("not run: 1 more sizes that the code asks for"));
}

TEST_CASE("what no case executed is named") {
  const Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  const auto says = [&](const char* part) {
    const auto proof = conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::elite, report);
    const auto in = [&](const std::vector<std::string>& lines) {
      return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.find(part) != std::string::npos;
      });
    };
    return in(proof->proved_by) || in(proof->unproved);
  };
  CHECK_FALSE(says("instructions of its PTX"));
  report.coverage = {{"gemm", {{10, 1}, {11, 1}, {12, 1}}, {}}};
  CHECK(says("all 3 instructions of its PTX ran"));
  report.coverage = {{"gemm", {{10, 1}, {11, 0}, {12, 0}, {20, 0}, {21, 1}}, {{21, 1}}}};
  CHECK(says("3 of 5 instructions of its PTX, which no case reached: PTX lines 11-12, 20"));
  CHECK(says("a third round of loops that end at PTX lines 21"));
}

TEST_CASE("a proof of a kernel that reads a clock says so") {
  const Task task = gemm_of(5, 7, 11);
  CompiledKernel kernel = kernel_of(Precision::fp32_strict);
  const auto told = [&] {
    const auto proof = conclude(task, kernel, ProofLevel::finalist, good(task));
    return std::any_of(proof->unproved.begin(), proof->unproved.end(), [](const std::string& line) {
      return line.find("reads a clock") != std::string::npos;
    });
  };
  CHECK_FALSE(told());
  for (const char* flag : {"%clock", "%globaltimer"}) {
    kernel.facts.flags = {"%smid", flag};
    CHECK(told());
  }
}

TEST_CASE("a wrong output names the undefined value that goes into it") {
  const Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  report.cases[0].outputs[0].failed = 1;
  report.cases[0].remarks = {{"undefined_value", "lane 0 takes the value of lane 16", "here"}};
  const auto refusal = [&] {
    return conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::elite, report).rejected();
  };
  CHECK(refusal().where == "D[0][1][2]");
  report.cases[0].remarks.push_back({"spoiled_output", "D", "here"});
  CHECK(refusal().where == "here");
  CHECK(refusal().message.starts_with(
      "an undefined value goes into D[0][1][2]: lane 0 takes the value of lane 16; 1 of 35"));
}

TEST_CASE("a wrong output names the older value that goes into it") {
  const Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  report.cases[0].outputs[0].failed = 1;
  report.cases[0].remarks = {{"older_value", "reads o as it was before", "here"},
                             {"spoiled_output", "D", "here"}};
  const auto refusal =
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::elite, report).rejected();
  CHECK(refusal.where == "here");
  CHECK(refusal.message.starts_with(
      "an older value goes into D[0][1][2]: reads o as it was before; 1 of 35"));
}

TEST_CASE("the first failure is the verdict") {
  struct Case {
    const char* what;
    const char* code;
    const char* message;
    std::function<void(TrialReport&)> spoil;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"a fault", "run.race",
       "two writers (and 1 more, among them run.guard: g); shape batch=1 k=11 m=5 n=7, ordinary "
       "content, seed 5",
       [](TrialReport& r) {
         r.cases[0].faults = {{"run.race", "two writers", "ptx:4"}, {"run.guard", "g", ""}};
       }},
      {"a fault of an unknown code", "run.crash", "run.odd: strange",
       [](TrialReport& r) {
         r.cases[0].faults = {{"run.odd", "strange", ""}};
       }},
      {"never written", "verify.never_written", "3 of 35 elements of D",
       [](TrialReport& r) {
         r.cases[0].outputs[0].never_written = 3;
         r.cases[0].outputs[0].failed = 3;
       }},
      {"outside the bound", "verify.bound",
       "2 of 35 compared elements are wrong; worst D[0][1][2]: got 3, want 2, allowed error 0.5",
       [](TrialReport& r) {
         OutputReport& o = r.cases[0].outputs[0];
         o.failed = 2, o.worst_ratio = 2, o.got = 3, o.want = 2, o.bound = 0.5;
       }},
      {"NaN ratio without a count", "verify.bound", "got nan",
       [](TrialReport& r) {
         r.cases[0].outputs[0].worst_ratio = NAN;
         r.cases[0].outputs[0].got = NAN;
       }},
      {"lost bits seen by a probe", "verify.precision", "probe content",
       [](TrialReport& r) {
         OutputReport& o = r.cases[1].outputs[0];
         o.failed = 1, o.worst_ratio = 99, o.got = 1.0004, o.want = 1, o.bound = 1e-7;
       }},
      {"a wrong value seen by a probe", "verify.bound", "probe content",
       [](TrialReport& r) {
         OutputReport& o = r.cases[1].outputs[0];
         o.failed = 1, o.worst_ratio = 99, o.got = 2, o.want = 1, o.bound = 1e-7;
       }},
      {"nothing compared", "run.crash", "no element of D was compared",
       [](TrialReport& r) { r.cases[1].outputs[0].compared = 0; }},
      {"a silent output", "run.crash", "said nothing of output D",
       [](TrialReport& r) { r.cases[1].outputs.clear(); }},
      {"another tensor's report", "run.crash", "said nothing of output D",
       [](TrialReport& r) { r.cases[0].outputs[0].tensor = "A"; }},
      {"no case", "run.crash", "reported no case", [](TrialReport& r) { r.cases.clear(); }},
      {"no shape", "verify.no_shape", "`require`",
       [](TrialReport& r) {
         for (CaseReport& done : r.cases) done.not_for_this_shape = true;
       }},
      {"order", "verify.never_written", "D",
       [](TrialReport& r) {
         r.cases[0].outputs[0].never_written = 1;
         r.cases[1].faults = {{"run.race", "later", ""}};
       }},
  }));
  INFO(c.what);
  const Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  c.spoil(report);
  const auto verdict =
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::candidate, report);
  REQUIRE(verdict.is_rejected());
  testing::expect_code(verdict.rejected(), c.code);
  CHECK_THAT(verdict.rejected().message, Catch::Contains(c.message));
}

TEST_CASE("an output of 16 bits is told by which arithmetic it was to be") {
  for (const bool coarse : {false, true}) {
    Task task = gemm_of(5, 7, 11);
    for (Tensor& tensor : task.tensors) {
      if (tensor.name != "D") continue;
      tensor.type = DType::bf16;
      if (coarse) tensor.check.arithmetic = DType::bf16;
    }
    TrialReport report = good(task);
    OutputReport& o = report.cases[0].outputs[0];
    o.failed = 2, o.worst_ratio = 2, o.got = 3, o.want = 2, o.bound = 0.5;
    const auto verdict =
        conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::candidate, report);
    REQUIRE(verdict.is_rejected());
    INFO(verdict.rejected().code << ": " << verdict.rejected().message);
    const std::string next = next_step(verdict.rejected());
    CHECK((next.find("needs `arithmetic`") == std::string::npos) == coarse);
  }
}

TEST_CASE("integers and indices mismatch") {
  Task task = gemm_of(5, 7, 11);
  task.tensors.back().check.kind = CheckKind::bitwise;
  TrialReport report = good(task);
  report.cases[0].outputs[0].failed = 1;
  report.cases[0].outputs[0].worst_ratio = INFINITY;
  testing::expect_code(
      conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::candidate, report).rejected(),
      "verify.mismatch");
}

TEST_CASE("arithmetic below the contract is refused whatever the values") {
  struct Case {
    Precision ceiling, asked;
    bool ok;
  };
  const Case c =
      GENERATE(from_range(std::vector<Case>{{Precision::fp32_strict, Precision::fp32_strict, true},
                                            {Precision::tf32, Precision::fp32_strict, false},
                                            {Precision::bf16, Precision::fp32_strict, false},
                                            {Precision::tf32, Precision::tf32, true},
                                            {Precision::fp32_strict, Precision::tf32, true},
                                            {Precision::fp16, Precision::bf16, false},
                                            {Precision::bf16, Precision::bf16, true},
                                            {Precision::fp32_strict, Precision::integer, true}}));
  Task task = gemm_of(5, 7, 11);
  task.precision = c.asked;
  const auto verdict = conclude(task, kernel_of(c.ceiling), ProofLevel::candidate, good(task));
  REQUIRE(bool(verdict) == c.ok);
  if (!c.ok) testing::expect_code(verdict.rejected(), "gate.precision");
  if (c.ok) CHECK(verdict->proved == c.asked);
}

TEST_CASE("repeats, relations and values of one term decide what is said and what is refused") {
  struct Row {
    const char* what;
    std::function<void(Task&, TrialReport&)> change;
    const char* code;  // "": accepted
    bool deterministic;
  };
  const auto varied = [](TrialReport& report, Variation variation, std::int64_t strays) {
    report.cases[0].what.content.variation = variation;
    report.cases[0].related = true;
    report.cases[0].outputs[0].relation_differs = strays;
  };
  const Row row = GENERATE_COPY(from_range(std::vector<Row>{
      {"nothing repeated", [](Task&, TrialReport&) {}, "", false},
      {"equal bits", [](Task&, TrialReport& r) { r.cases[0].repeats_done = 2; }, "", true},
      {"other bits where any order may be",
       [](Task&, TrialReport& r) {
         r.cases[0].repeats_done = 2, r.cases[0].outputs[0].repeat_differs = 3;
       },
       "", false},
      {"other bits where the task forbids them",
       [](Task& task, TrialReport& r) {
         task.deterministic = true;
         r.cases[0].repeats_done = 2, r.cases[0].outputs[0].repeat_differs = 3;
       },
       "verify.nondeterministic", false},
      {"scaled as it should", [=](Task&, TrialReport& r) { varied(r, Variation::scaled, 0); }, "",
       false},
      {"not scaled", [=](Task&, TrialReport& r) { varied(r, Variation::scaled, 1); },
       "verify.relation", false},
      {"not scaled, in a narrow class",
       [=](Task& task, TrialReport& r) {
         task.precision = Precision::tf32;
         varied(r, Variation::scaled, 1);
       },
       "", false},
      {"not scaled, an index that rounding chooses",
       [=](Task& task, TrialReport& r) {
         task = *support::graph_task(
             {support::input("x", {"rows", "cols"}), support::output("D", {"rows"}, DType::i64)},
             {{"act", "sigmoid", {"x"}, {"h"}},
              {"choice", "argmax", {"h"}, {"D"}, {{"dim", std::int64_t{1}}}}},
             {{"rows", 4}, {"cols", 4}});
         varied(r, Variation::scaled, 1);
       },
       "", false},
      {"order by place", [=](Task&, TrialReport& r) { varied(r, Variation::swapped, 5); }, "",
       false},
      {"a lost bit of one term",
       [](Task&, TrialReport& r) {
         r.cases[1].outputs[0].one_term = 9, r.cases[1].outputs[0].one_term_inexact = 1;
         r.cases[1].outputs[0].one_term_error = 0x1p-23;
       },
       "verify.precision", false},
      {"as much as emulation may lose",
       [](Task& task, TrialReport& r) {
         task.precision = Precision::fp32_emulated;
         r.cases[1].outputs[0].one_term = 9, r.cases[1].outputs[0].one_term_inexact = 1;
         r.cases[1].outputs[0].one_term_error = 0x1p-21;
       },
       "", false},
      {"more than emulation may lose",
       [](Task& task, TrialReport& r) {
         task.precision = Precision::fp32_emulated;
         r.cases[1].outputs[0].one_term = 9, r.cases[1].outputs[0].one_term_inexact = 1;
         r.cases[1].outputs[0].one_term_error = 0x1.8p-21;
       },
       "verify.precision", false},
  }));
  INFO(row.what);
  Task task = gemm_of(5, 7, 11);
  TrialReport report = good(task);
  row.change(task, report);
  const auto proof = conclude(task, kernel_of(Precision::fp32_strict), ProofLevel::elite, report);
  if (*row.code != 0) {
    REQUIRE(proof.is_rejected());
    testing::expect_code(proof.rejected(), row.code);
    return;
  }
  REQUIRE(proof);
  CHECK(proof->deterministic == row.deterministic);
  CHECK(proof->battery == "5");
  CHECK_FALSE(proof->proved_by.empty());
  CHECK_FALSE(proof->unproved.empty());
}

TEST_CASE("the class shown is the best that instructions and values of one term allow") {
  struct Row {
    Precision asked, ceiling;
    std::int64_t seen;
    double error;
    Precision proved;
  };
  const Row row = GENERATE(values<Row>({
      {Precision::fp32_strict, Precision::fp32_strict, 8, 0, Precision::fp32_strict},
      {Precision::tf32, Precision::fp32_strict, 8, 0, Precision::fp32_strict},
      {Precision::tf32, Precision::fp32_emulated, 8, 0, Precision::fp32_emulated},
      {Precision::tf32, Precision::fp32_emulated, 8, 0x1p-22, Precision::fp32_emulated},
      {Precision::tf32, Precision::fp32_emulated, 8, 0x1p-12, Precision::tf32},
      {Precision::tf32, Precision::fp32_emulated, 0, 0, Precision::tf32},
      {Precision::fp32_emulated, Precision::fp32_emulated, 8, 0x1p-23, Precision::fp32_emulated},
  }));
  Task task = gemm_of(5, 7, 11);
  task.precision = row.asked;
  TrialReport report = good(task);
  OutputReport& output = report.cases[1].outputs[0];
  output.one_term = row.seen, output.one_term_inexact = row.error > 0 ? 1 : 0,
  output.one_term_error = row.error;
  const auto proof = conclude(task, kernel_of(row.ceiling), ProofLevel::candidate, report);
  REQUIRE(proof);
  CHECK(proof->proved == row.proved);
}

}  // namespace
}  // namespace cupilot
