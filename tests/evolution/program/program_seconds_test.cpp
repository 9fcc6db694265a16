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

}  // namespace
}  // namespace cupilot::testing
