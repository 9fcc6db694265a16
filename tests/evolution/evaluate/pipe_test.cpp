// The straight pipe on a device that lies: nothing impossible becomes a number, nothing unproved is
// timed.
#include <chrono>
#include <future>
#include <limits>
#include <thread>
#include <utility>

#include <cupilot/parts/rejection.hpp>

#include "catch.hpp"
#include "evolution/evaluate/pipe.hpp"
#include "evolution/hooked.hpp"
#include "support/gemm.hpp"
#include "support/graph.hpp"
#include "support/reached.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

struct Bench {
  TempDir dir;
  Hooked device{fake_device(
      write_landscape(dir, R"({"cupilot_landscape": 1, "kind": "additive", "seed": 1})"))};
  Pipe pipe{TaskRef(landscape_task()), &device, nullptr, 1};

  // Changes the task that the pipe evaluates for.
  template <class Change>
  void change_task(const Change& change) {
    Task task = *pipe.task;
    change(task);
    pipe.task = TaskRef(std::move(task));
  }
  Candidate evaluated(ProofLevel level = ProofLevel::candidate) {
    KernelSource source;
    source.text = "// a point of the landscape\n";
    auto candidate = evaluate_source(pipe, source, level);
    REQUIRE_OK(candidate);
    return *candidate;
  }
  Rejected refused() {
    const Candidate candidate = evaluated();
    REQUIRE(std::holds_alternative<Rejected>(candidate.outcome));
    return std::get<Rejected>(candidate.outcome);
  }
  Accepted accepted(ProofLevel level = ProofLevel::candidate) {
    const Candidate candidate = evaluated(level);
    if (const auto* no = std::get_if<Rejected>(&candidate.outcome))
      FAIL(no->code + ": " + no->message);
    return std::get<Accepted>(candidate.outcome);
  }
  void claim(double us) {
    device.on_measure = [us](auto, std::vector<SubjectReport>& reports) {
      set_time(reports.front(), us);
    };
  }
};

// z = sum over n of x w: the same as x times the sums of w over its rows.
Task sums_of_products() {
  using support::input, support::output;
  const auto task =
      support::graph_task({input("x", {Expr("m"), Expr("cols")}),
                           input("w", {Expr("n"), Expr("cols")}), output("z", {Expr("m")})},
                          {{"product", "linear", {"x", "w"}, {"y"}, {}, {}},
                           {"rows", "sum", {"y"}, {"z"}, {{"dim", std::int64_t(1)}}, {}}},
                          {{"m", 1024}, {"n", 1024}, {"cols", 1024}});
  REQUIRE_OK(task);
  return *task;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a source that is to be proved is compiled anew", "[pipe]") {
  Bench bench;
  bench.accepted();
  CHECK(bench.device.anew == 1);
}

TEST_CASE("a time that cannot be is never a number", "[pipe]") {
  struct Row {
    double us;
    const char* code;
  };
  const Row rows[] = {
      {0, "measure.failed"},
      {-1, "measure.failed"},
      {std::nan(""), "measure.failed"},
      {infinity, "measure.failed"},
      {0x1p63 * 1e-3, "measure.failed"},
      {1e-12, "floor.impossible"},
      {1e-3, "floor.impossible"},  // a worker that says 1 ns
  };
  for (const Row& row : rows) {
    for (const Provenance kind : {Provenance::modelled, Provenance::measured}) {
      INFO(row.us << " us " << name_of(kind));
      Bench bench;
      bench.device.own().provenance = kind;
      bench.claim(row.us);
      expect_code(bench.refused(), row.code);
    }
  }
}

TEST_CASE("samples that do not add up are no time", "[pipe]") {
  Bench bench;
  std::vector<double> samples = {20, 20, 20};
  double us = 20;
  SECTION("one of them is zero") { samples[1] = 0; }
  SECTION("their median is another") { us = 12; }
  SECTION("the device took less time than they claim") {
    bench.device.own().provenance = Provenance::measured;
    samples = {5e6, 5e6, 5e6}, us = 5e6;
  }
  SECTION("an empty launch reads the same") {
    bench.device.on_measure = [](auto, std::vector<SubjectReport>& reports) {
      reports[0].measurement->too_short = true;
    };
    expect_code(bench.refused(), "measure.failed");
    return;
  }
  bench.device.on_measure = [&](auto, std::vector<SubjectReport>& reports) {
    reports[0].measurement->samples_us = samples;
    reports[0].measurement->time_us = us;
  };
  expect_code(bench.refused(), "measure.failed");
}

TEST_CASE("a forged time of one shape does not hide in the mean of several", "[pipe]") {
  Bench bench;
  bench.change_task([](Task& task) { task.time_shapes = {{{{"n", 1}}, 1.0}, {{{"n", 64}}, 1.0}}; });
  CHECK(bench.accepted().measurement.time_us > 0);
  int calls = 0;
  bench.device.on_measure = [&](auto, std::vector<SubjectReport>& reports) {
    if (calls++ % 2 == 1) set_time(reports.front(), 1e-6);
  };
  expect_code(bench.refused(), "floor.impossible");
}

TEST_CASE("times are believed down to the floor less its margin", "[pipe]") {
  Bench bench;
  const DeviceSpec h200 = *chip("h200");
  bench.device.own().spec = h200;
  bench.pipe.task = TaskRef(*gemm_task({.m = 1024, .n = 1024, .k = 1024}));
  const double floor =
      *floor_us(bench.pipe.task, bench.pipe.task->time_shapes[0], h200, Precision::fp32_strict);
  REQUIRE(floor > 10);
  bench.claim(floor * 0.975);
  CHECK(bench.accepted().measurement.time_us == Approx(floor * 0.975));
  bench.claim(floor * 0.965);
  const Rejected refused = bench.refused();
  expect_code(refused, "floor.impossible");
  CHECK(refused.message.find("below the floor") != std::string::npos);
}

TEST_CASE("fewer operations than a graph writes are believed when they were counted", "[pipe]") {
  Bench bench;
  const DeviceSpec h200 = *chip("h200");
  bench.device.own().spec = h200;
  bench.device.own().provenance = Provenance::measured;
  const Task task = sums_of_products();
  const TaskRef graph(task), product(*gemm_task({.m = 1024, .n = 1024, .k = 1024}));
  const double textbook = *floor_us(task, task.time_shapes[0], h200, Precision::fp32_strict);
  struct Row {
    const char* what;
    const TaskRef& task;
    double share;  // of the textbook's floor
    double flops;  // counted; negative: there are no counters
    CountHow how;  // of the tensor cores' counters
    bool accepted;
  };
  const Row rows[] = {
      {"nothing was counted", graph, 0.5, -1, CountHow::exact, false},
      {"few operations", graph, 0.5, 1e6, CountHow::exact, true},
      {"the operations as written", graph, 0.5, 2.0 * 1024 * 1024 * 1024, CountHow::exact, false},
      {"the tensor cores were not counted", graph, 0.5, 1e6, CountHow::unknown, false},
      {"less than the bytes take", graph, 1e-3, 1e6, CountHow::exact, false},
      {"a product alone", product, 0.5, 1e6, CountHow::exact, false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    bench.pipe.task = row.task;
    bench.device.on_measure = [&](auto, std::vector<SubjectReport>& reports) {
      set_time(reports.front(), row.share * textbook);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than its samples
    };
    bench.device.on_count = {};
    if (row.flops >= 0) {
      bench.device.on_count = [&](CountDepth depth) {
        CHECK(depth == CountDepth::all);
        LaunchCounts launch;
        launch.work.source = CounterSource::counters;
        for (Count& one : launch.work.all) one.how = row.how;
        launch.work[Counter::flops_fp32] = {row.flops, row.flops, row.flops, CountHow::exact};
        return std::vector<LaunchCounts>{launch};
      };
    }
    if (!row.accepted) {
      expect_code(bench.refused(), "floor.impossible");
      continue;
    }
    const Accepted accepted = bench.accepted();
    CHECK(accepted.verdict.floor_us < accepted.measurement.time_us);
    CHECK(accepted.verdict.digest.back().find("algebraic short cut") != std::string::npos);
  }
}

TEST_CASE("a count that fails refuses no kernel for its time", "[pipe]") {
  Bench bench;
  const DeviceSpec h200 = *chip("h200");
  bench.device.own().spec = h200;
  bench.device.own().provenance = Provenance::measured;
  bench.pipe.task = TaskRef(sums_of_products());
  const double textbook =
      *floor_us(bench.pipe.task, bench.pipe.task->time_shapes[0], h200, Precision::fp32_strict);
  bench.device.on_measure = [&](auto, std::vector<SubjectReport>& reports) {
    set_time(reports.front(), 0.5 * textbook);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  KernelSource source;
  source.text = "// a point of the landscape\n";
  bench.device.on_count = [](CountDepth) -> Attempt<std::vector<LaunchCounts>> {
    return Error{ErrorCode::failure, "stopped", ""};
  };
  const auto stopped = evaluate_source(bench.pipe, source, ProofLevel::candidate);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().message == "stopped");
  bench.device.on_count = [](CountDepth) -> Attempt<std::vector<LaunchCounts>> {
    return reject("run.hang", "under the hardware counters");
  };
  expect_code(bench.refused(), "run.hang");
}

TEST_CASE("counts of one shape say nothing of another's time", "[pipe]") {
  Bench bench;
  const DeviceSpec h200 = *chip("h200");
  bench.device.own().spec = h200;
  Task task = sums_of_products();
  task.time_shapes.push_back(task.time_shapes.front());
  task.time_shapes.back().sizes["m"] = 2048;
  bench.pipe.task = TaskRef(task);
  int calls = 0;
  bench.device.on_measure = [&](auto, std::vector<SubjectReport>& reports) {
    set_time(reports.front(), calls++ == 0 ? 1000 : 20);
    Counts& counts = reports.front().measurement->counts;
    counts.source = CounterSource::interpreted;
    for (Count& one : counts.all) one.how = CountHow::exact;
  };
  expect_code(bench.refused(), "floor.impossible");
}

TEST_CASE("a timed launch that was wrong has no time", "[pipe]") {
  Bench bench;
  const auto spoil = GENERATE(0, 1, 2);
  bench.device.on_measure = [&](auto, std::vector<SubjectReport>& reports) {
    CaseReport& proof = reports.front().proofs.front();
    if (spoil == 0) proof.outputs.front().failed = 1;
    if (spoil == 1) proof.outputs.front().never_written = 1;
    if (spoil == 2) proof.faults.push_back({"run.guard", "3 bytes beyond y", ""});
  };
  expect_code(bench.refused(), "measure.timed_launch");
}

TEST_CASE("what a device reports of a run is the candidate's rejection", "[pipe]") {
  for (const RejectionCode& row : rejection_codes()) {
    if (row.stage != Stage::run && row.stage != Stage::load) continue;
    Bench bench;
    bench.device.on_run = [&](const CompiledKernel&, TrialReport& report) {
      report.cases.resize(1);
      report.cases.front().faults.push_back(
          {std::string(row.code), "as the test says", "block (0,0,0)"});
    };
    const Rejected refused = bench.refused();
    expect_code(refused, row.code);
    CHECK(refused.where == "block (0,0,0)");
  }
}

TEST_CASE("a task that asks for equal bits refuses a kernel that gave others", "[pipe]") {
  Bench bench;
  bench.device.on_run = [](const CompiledKernel&, TrialReport& report) {
    report.cases.front().repeats_done = 3;
    report.cases.front().outputs.front().repeat_differs = 1;
  };
  const Accepted accepted = bench.accepted();
  CHECK_FALSE(accepted.verification.deterministic);
  CHECK(accepted.verification.repeats == 3);
  bench.change_task([](Task& task) { task.deterministic = true; });
  expect_code(bench.refused(), "verify.nondeterministic");
}

TEST_CASE("a kernel that does not follow an input doubled is refused", "[pipe]") {
  Bench bench;
  bench.change_task([](Task& task) { task.precision = Precision::fp32_strict; });
  bench.device.on_run = [](const CompiledKernel&, TrialReport& report) {
    CaseReport& scaled = report.cases.front();
    scaled.what.content.variation = Variation::scaled;
    scaled.related = true;
    scaled.outputs.front().relation_differs = 2;
  };
  expect_code(bench.refused(), "verify.relation");
}

TEST_CASE("what the screen refuses never reaches the device", "[pipe][threads]") {
  Bench bench, other;
  Hooked& screen = other.device;
  bench.pipe.screen = &screen;
  screen.own().identity = "virtual:h200";
  bench.pipe.task = TaskRef(*gemm_task({.m = 256, .n = 256, .k = 256}));
  bench.device.on_compile = [](CompiledKernel& kernel) { kernel.confinement = "landlock 4"; };
  const auto fault = [&](const std::string& code) {
    screen.on_run = [code](const CompiledKernel&, TrialReport& report) {
      report.cases.front().faults.push_back(
          {code, "as the test says", "block (0,0,0) thread (1,0,0) ptx:7"});
    };
  };
  SECTION("a race is found before device time is spent") {
    fault("run.race");
    const Rejected refused = bench.refused();
    expect_code(refused, "run.race");
    CHECK(refused.message.find("virtual:h200") != std::string::npos);
    CHECK(bench.device.runs == 0);
  }
  SECTION("what the virtual device cannot run is said, not refused") {
    SECTION("an instruction that it does not know") { fault("run.unsupported"); }
    SECTION("a buffer beyond its memory") {
      screen.run_error = Error{ErrorCode::not_done, "a buffer does not fit", "use smaller shapes"};
    }
    const Accepted accepted = bench.accepted();
    CHECK(bench.device.runs == 1);
    CHECK(accepted.conditions.screened_on.empty());
    REQUIRE_FALSE(accepted.verification.unproved.empty());
    CHECK(accepted.verification.unproved.back().find("virtual:h200 could not run it") !=
          std::string::npos);
  }
  SECTION("a case that is too expensive is no hang: the others tell") {
    std::optional<std::string> later;  // fault of the cases after the first
    screen.on_run = [&, ran = 0](const CompiledKernel&, TrialReport& report) mutable {
      const std::optional<std::string> code = ran++ == 0 ? "run.budget" : later;
      if (code) report.cases.front().faults.push_back({*code, "as the test says", ""});
    };
    SECTION("they prove") {
      const Accepted accepted = bench.accepted();
      CHECK(accepted.conditions.screened_on == "virtual:h200");
      REQUIRE_FALSE(accepted.verification.unproved.empty());
      CHECK(accepted.verification.unproved.back() ==
            "1 of 6 cases on virtual:h200: too expensive to interpret");
    }
    SECTION("they refuse") {
      later = "run.race";
      expect_code(bench.refused(), "run.race");
    }
    SECTION("beside one whose reference is too dear, too") {
      screen.on_run = [&, ran = 0](const CompiledKernel&, TrialReport&) mutable {
        screen.run_error = std::nullopt;
        if (ran++ == 0) screen.run_error = Error{ErrorCode::not_done, "too dear", "name axes"};
      };
      const Accepted accepted = bench.accepted();
      CHECK(accepted.conditions.screened_on == "virtual:h200");
      CHECK(accepted.verification.unproved.back() ==
            "1 of 6 cases on virtual:h200: too expensive to interpret");
    }
    SECTION("none tells") {
      later = "run.budget";
      const Accepted accepted = bench.accepted();
      CHECK(accepted.conditions.screened_on.empty());
      REQUIRE_FALSE(accepted.verification.unproved.empty());
      CHECK(accepted.verification.unproved.back() ==
            "6 of 6 cases on virtual:h200: too expensive to interpret");
    }
  }
  SECTION("a right candidate is interpreted at few small shapes, and both say what they held") {
    const Accepted accepted = bench.accepted();
    CHECK(screen.cases_run.size() <= 6);
    CHECK(bench.device.cases_run.size() > screen.cases_run.size());
    CHECK(accepted.conditions.screened_on == "virtual:h200");
    CHECK(accepted.conditions.compiled_under == "landlock 4");
    REQUIRE_FALSE(accepted.verification.proved_by.empty());
    CHECK(accepted.verification.proved_by.back().find("every access checked") != std::string::npos);
  }
  SECTION("a finalist is interpreted at all of its level") {
    bench.accepted(ProofLevel::finalist);
    CHECK(screen.cases_run.size() > 6);
  }
}

TEST_CASE("a further run that is too expensive is left out", "[pipe][threads]") {
  Bench bench, other;
  Hooked& screen = other.device;
  bench.pipe.screen = &screen;
  bench.pipe.task = TaskRef(*gemm_task({.m = 4096, .n = 512, .k = 8192}));
  const std::vector<Case> all =
      battery(bench.pipe.task, {}, screen.device(), ProofLevel::finalist, bench.pipe.seed, false);
  screen.on_run = [&, ran = std::size_t{0}](const CompiledKernel&, TrialReport& report) mutable {
    report.coverage = {{"gemm", {{10, 1}, {11, 0}}, {}}};  // the second instruction never runs
    if (ran++ >= all.size())
      report.cases.front().faults.push_back({"run.budget", "as the test says", ""});
  };
  bench.accepted(ProofLevel::finalist);
  CHECK(screen.cases_run.size() > all.size());
}

TEST_CASE("cases that several threads interpret end as those of one would", "[pipe][threads]") {
  Bench bench, other;
  Hooked& screen = other.device;
  bench.pipe.screen = &screen;
  bench.pipe.task = TaskRef(*gemm_task({.m = 256, .n = 256, .k = 256}));
  const std::vector<Case> all =
      battery(bench.pipe.task, {}, screen.device(), ProofLevel::finalist, bench.pipe.seed, false);
  REQUIRE(all.size() > 8);
  const auto same = [](const Case& a, const Case& b) {
    return a.workload.sizes == b.workload.sizes && a.content == b.content && a.poison == b.poison;
  };
  // Neighbours, which are never one thread's.
  for (const std::size_t first : {std::size_t{0}, std::size_t{3}, all.size() - 2}) {
    INFO(first);
    screen.on_run = [&](const CompiledKernel&, TrialReport& report) {
      for (CaseReport& ran : report.cases) {
        if (same(ran.what, all[first])) ran.faults.push_back({"run.divergence", "the first", ""});
        if (same(ran.what, all[first + 1])) ran.faults.push_back({"run.race", "a later one", ""});
      }
    };
    const Candidate candidate = bench.evaluated(ProofLevel::finalist);
    REQUIRE(std::holds_alternative<Rejected>(candidate.outcome));
    expect_code(std::get<Rejected>(candidate.outcome), "run.divergence");
  }
}

TEST_CASE("what was screened before is screened while the device runs, and both must hold",
          "[pipe][threads]") {
  Bench bench, other;
  Hooked& screen = other.device;
  bench.pipe.screen = &screen;
  KernelSource source;
  source.text = "// a point of the landscape\n";
  EvaluationOptions rules;
  rules.level = ProofLevel::finalist;
  rules.screened_before = true;
  const auto outcome = [&] {
    auto passed = pass_source(bench.pipe, source, rules);
    REQUIRE_OK(passed);
    return std::move(passed->candidate.outcome);
  };
  const auto fault = [](Hooked& where, const char* code) {
    where.on_run = [code](const CompiledKernel&, TrialReport& report) {
      report.cases.front().faults.push_back({code, "as the test says", ""});
    };
  };
  SECTION("neither waits for the other") {
    std::promise<void> device_ran;
    screen.on_run = [&, once = false](const CompiledKernel&, TrialReport&) mutable {
      if (!std::exchange(once, true)) device_ran.get_future().wait_for(std::chrono::seconds(60));
    };
    bench.device.on_run = [&](const CompiledKernel&, TrialReport&) { device_ran.set_value(); };
    CHECK(std::holds_alternative<Accepted>(outcome()));
  }
  SECTION("the screen's word comes first") {
    fault(screen, "run.race");
    fault(bench.device, "run.hang");
    expect_code(std::get<Rejected>(outcome()), "run.race");
    CHECK(bench.device.runs == 1);
  }
  SECTION("the device's word stands") {
    fault(bench.device, "run.hang");
    expect_code(std::get<Rejected>(outcome()), "run.hang");
  }
  SECTION("a kernel that was compiled is not compiled again, another one is") {
    auto compiled = bench.device.compile(source);
    REQUIRE(compiled);
    rules.compiled = &*compiled;
    bool again = false;
    bench.device.on_compile = [&](CompiledKernel&) { again = true; };
    CHECK(std::holds_alternative<Accepted>(outcome()));
    CHECK_FALSE(again);
    source.text += "// and another\n";
    CHECK(std::holds_alternative<Accepted>(outcome()));
    CHECK(again);
  }
}

TEST_CASE("a screen is opened for a measuring device of a known chip only", "[pipe]") {
  Bench bench;
  bench.device.own().spec = *chip("h200");
  auto modelled = open_screen(bench.device);
  REQUIRE_OK(modelled);
  CHECK_FALSE(*modelled);
  bench.device.own().provenance = Provenance::measured;
  bench.device.own().spec.name = "a-chip-of-next-year";
  auto unknown = open_screen(bench.device);
  REQUIRE_OK(unknown);
  CHECK_FALSE(*unknown);
}
