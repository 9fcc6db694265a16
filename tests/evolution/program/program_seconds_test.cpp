// Programs whose parts cost much, on a simulated clock.
#include "catch.hpp"
#include "evolution/hooked.hpp"
#include "evolution/program/support.hpp"
#include "support/event_clock.hpp"
#include "support/graph.hpp"

namespace cupilot::testing {
namespace {

// Two reductions over different rows: softmax over rows of sums over columns.
Task two_reductions() {
  Task task;
  task.name = "two_reductions";
  task.axes = {{"rows"}, {"cols", AxisKind::reduced}};
  task.tensors = {Tensor{.name = "x", .role = Role::in, .shape = {"rows", "cols"}},
                  Tensor{.name = "y", .role = Role::out, .shape = {"rows"}}};
  task.operations = {
      {"total", "sum", {"x"}, {"s"}, {{"dim", Attribute(std::vector<std::int64_t>{1})}}},
      {"share", "softmax", {"s"}, {"y"}, {{"dim", Attribute(std::int64_t{0})}}}};
  task.time_shapes = {{{{"rows", 48}, {"cols", 64}}}};
  REQUIRE_OK(complete(task));
  return task;
}

// The virtual device, slower: what it is asked at once it does side by side.
class Slow : public Hooked {
 public:
  Slow(std::unique_ptr<Backend> inner, EventClock& clock)
      : Hooked(std::move(inner)), clock_(clock) {}
  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh) override {
    clock_.spend(compile_seconds);
    return Hooked::compile(source, fresh);
  }
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    clock_.spend(case_seconds * static_cast<double>(cases.size()));
    return Hooked::run(task, kernel, cases);
  }
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    clock_.spend(visit_seconds * static_cast<double>(contestants.size()));
    return Hooked::measure(task, workload, contestants, options);
  }
  double compile_seconds = 2, case_seconds = 0.1, visit_seconds = 0.5;

 private:
  EventClock& clock_;
};

TEST_CASE("a program of costly parts is confirmed within its seconds", "[search][threads]") {
  struct Row {
    double max_seconds, compile_seconds, case_seconds, visit_seconds;
  };
  for (const Row& row : {Row{60, 3, 0.15, 0.5}, Row{80, 2, 0.3, 0.5}, Row{40, 3, 0.05, 1}}) {
    INFO(row.max_seconds << " " << row.compile_seconds << " " << row.case_seconds);
    const TempDir dir;
    auto inner = open_backend("virtual:h200", kept_images());
    REQUIRE_OK(inner);
    EventClock clock;
    Slow slow(std::move(*inner), clock);
    slow.compile_seconds = row.compile_seconds;
    slow.case_seconds = row.case_seconds;
    slow.visit_seconds = row.visit_seconds;
    EvolveOptions options;
    options.search.max_evaluations = 64;
    options.run_dir = dir / "run";
    options.pool = "off";
    options.host = &clock;
    options.max_seconds = row.max_seconds;
    const auto report = evolve(two_reductions(), slow, options);
    REQUIRE_OK(report);
    CHECK(report->best);
    for (const auto& [part, seconds] : report->part_seconds) UNSCOPED_INFO(part << " " << seconds);
    for (const std::string& notice : report->notices) UNSCOPED_INFO(notice);
    CHECK(report->wall_seconds <= row.max_seconds);
    CHECK(report->wall_seconds > 0.5 * row.max_seconds);
  }
}

TEST_CASE("a device that measures confirms the last program without an evaluation before",
          "[search][threads]") {
  struct Row {
    double max_seconds;
    bool at_once;
  };
  for (const Row& row : {Row{40, true}, Row{600, false}}) {
    INFO(row.max_seconds);
    const TempDir dir;
    auto inner = open_backend("virtual:h200", kept_images());
    REQUIRE_OK(inner);
    EventClock clock;
    Slow slow(std::move(*inner), clock);
    slow.own().provenance = Provenance::measured;
    int of_programs = 0;
    slow.on_measure = [&](std::span<const Subject> subjects, std::vector<SubjectReport>&) {
      for (const Subject& one : subjects)
        of_programs += one.kernel != nullptr && one.kernel->source.plan.launches.size() > 1;
    };
    EvolveOptions options;
    options.search.max_evaluations = 16;
    options.run_dir = dir / "run";
    options.pool = "off";
    options.screening = false;
    options.host = &clock;
    options.max_seconds = row.max_seconds;
    const auto report = evolve(two_reductions(), slow, options);
    REQUIRE_OK(report);
    for (const auto& [part, seconds] : report->part_seconds) UNSCOPED_INFO(part << " " << seconds);
    REQUIRE(report->best);
    CHECK(of_programs == (row.at_once ? 1 : 2));
    CHECK(report->evaluations == 1);
    CHECK(report->wall_seconds <= row.max_seconds);
    double of_parts = 0;
    for (const auto& [part, seconds] : report->part_seconds) of_parts += seconds;
    CHECK(of_parts == Approx(report->wall_seconds).margin(0.5));
    if (row.at_once) CHECK(report->stopped == "time spent");
    const auto again = read_run(dir / "run");
    REQUIRE_OK(again);
    REQUIRE(again->report.best);
    CHECK(again->report.best->candidate.id == report->best->candidate.id);
  }
}

TEST_CASE("a resumed program knows what its parts' kernels take", "[search][threads]") {
  const TempDir dir;
  EventClock clock;
  EvolveOptions options;
  options.search.max_evaluations = 64;
  options.run_dir = dir / "run";
  options.pool = "off";
  options.host = &clock;
  for (const double max_seconds : {60.0, 70.0}) {
    auto inner = open_backend("virtual:h200", kept_images());
    REQUIRE_OK(inner);
    Slow slow(std::move(*inner), clock);
    slow.compile_seconds = 3;
    slow.visit_seconds = 1;
    options.max_seconds = max_seconds;
    const bool begun = real_host().exists(dir / "run/journal");
    const auto report =
        begun ? resume(dir / "run", slow, options) : evolve(two_reductions(), slow, options);
    REQUIRE_OK(report);
    REQUIRE(report->best);
    for (const auto& [part, seconds] : report->part_seconds) UNSCOPED_INFO(part << " " << seconds);
    for (const std::string& notice : report->notices) UNSCOPED_INFO(notice);
    CHECK(report->wall_seconds <= max_seconds);
    // No part is confirmed, whichever sitting found its best.
    for (const auto& part : std::filesystem::directory_iterator(dir / "run/parts")) {
      const auto read = read_run(part.path());
      REQUIRE_OK(read);
      for (const auto& [phase, seconds] : read->report.phase_seconds)
        CHECK_FALSE(phase.starts_with("confirm"));
    }
  }
}

}  // namespace
}  // namespace cupilot::testing
