#include "evolution/evaluate/count_work.hpp"

#include <chrono>
#include <future>
#include <thread>

#include <cupilot/parts/rejection.hpp>

#include "base/stop.hpp"
#include "catch.hpp"
#include "support/gemm.hpp"

namespace cupilot {
namespace {

// A device that only counts, or says why not.
class Counting : public Backend, public Inspector {
 public:
  explicit Counting(Attempt<std::vector<LaunchCounts>> answer) : answer_(std::move(answer)) {}
  const DeviceTraits& traits() const override { return traits_; }
  Inspector& inspector() override { return *this; }
  Attempt<CompiledKernel> compile(const KernelSource&, Fresh) override { return lacking(); }
  Result<TrialReport> run(const TaskRef&, const CompiledKernel&, std::span<const Case>) override {
    return lacking();
  }
  Result<std::vector<SubjectReport>> measure(const TaskRef&, const Workload&,
                                             std::span<const Subject>,
                                             const MeasureOptions&) override {
    return lacking();
  }
  Attempt<std::vector<LaunchCounts>> count(const TaskRef&, const CompiledKernel&, const Workload&,
                                           CountDepth) override {
    return answer_;
  }

 private:
  static Error lacking() { return {ErrorCode::failure, "it only counts", ""}; }
  DeviceTraits traits_{
      .spec = *chip("h200"), .provenance = Provenance::measured, .identity = "counting"};
  Attempt<std::vector<LaunchCounts>> answer_;
};

// A screen that counts how often it is asked to interpret.
class Interpreter final : public Counting {
 public:
  Interpreter() : Counting(Error{ErrorCode::usage, "", ""}) {}
  Result<std::vector<SubjectReport>> measure(const TaskRef&, const Workload&,
                                             std::span<const Subject>,
                                             const MeasureOptions&) override {
    ++asked;
    std::vector<SubjectReport> reports(1);
    Measurement measurement;
    measurement.counts.source = CounterSource::interpreted;
    measurement.counts[Counter::barriers] = {7, 7, 7, CountHow::exact};
    reports[0].measurement = measurement;
    return reports;
  }
  int asked = 0;
};

LaunchCounts launch(double read, double written) {
  Counts counts;
  counts.source = CounterSource::counters;
  counts[Counter::dram_read_bytes] = {read, read, read, CountHow::exact};
  counts[Counter::dram_write_bytes] = {written, written, written, CountHow::exact};
  return {counts, {}};
}

Accepted counted(Attempt<std::vector<LaunchCounts>> answer, const CountPlan& plan = {},
                 Backend* screen = nullptr) {
  const Task task = *gemm_task({});
  Counting device(std::move(answer));
  Pipe pipe;
  pipe.task = TaskRef(task);
  pipe.backend = &device;
  pipe.screen = screen;
  Accepted accepted;
  accepted.measurement.provenance = Provenance::measured;
  accepted.measurement.time_us = 100;
  accepted.measurement.counts.source = CounterSource::analytic;
  accepted.measurement.counts[Counter::blocks] = {64, 64, 64, CountHow::exact};
  const auto done = count_work(pipe, {}, plan, accepted);
  if (!done) FAIL(done.error().message);
  return accepted;
}

TEST_CASE(
    "the chip's counters enter measurement and verdict, launches added up, over what was known",
    "[counters]") {
  const Accepted accepted = counted(std::vector<LaunchCounts>{launch(8e6, 1e6), launch(2e6, 3e6)});
  CHECK(accepted.measurement.counts.source == CounterSource::counters);
  CHECK(accepted.measurement.counts[Counter::dram_read_bytes].value == 10e6);
  CHECK(accepted.measurement.counts[Counter::dram_write_bytes].value == 4e6);
  CHECK(accepted.measurement.counts[Counter::blocks].value == 64);
  CHECK(accepted.verdict.source == CounterSource::counters);
  CHECK(accepted.verdict.achieved_bytes == Approx(14e6 / 100e-6));
  CHECK(accepted.verdict.stalls.empty());
}

TEST_CASE("what warps waited for is added up over the launches, and enters the verdict",
          "[counters]") {
  LaunchCounts one = launch(8e6, 1e6), other = launch(2e6, 3e6);
  one.warps.resident = 100, one.warps[Stall::barrier] = 30, one.warps[Stall::selected] = 70;
  other.warps.resident = 300, other.warps[Stall::barrier] = 210, other.warps[Stall::wait] = 90;
  const Accepted accepted = counted(std::vector<LaunchCounts>{one, other});
  REQUIRE(accepted.verdict.stalls.size() == 3);
  CHECK(accepted.verdict.stalls[0].stall == Stall::barrier);
  CHECK(accepted.verdict.stalls[0].share == Approx(0.6));
  CHECK(accepted.verdict.stalls[1].share == Approx(0.225));
}

TEST_CASE(
    "without counters the verdict stands on the next rung and says why, unless there never were "
    "any",
    "[counters]") {
  struct Row {
    Attempt<std::vector<LaunchCounts>> answer;
    const char* said;  // nullptr: nothing
  };
  const Row rows[] = {
      {Error{ErrorCode::no_device,
             "hardware counters: taking the counters: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", ""},
       "INSUFFICIENT_PRIVILEGES"},
      {reject("run.hang", "no end under the hardware counters"), "no end"},
      {Error{ErrorCode::usage, "recorded has no hardware counters", ""}, nullptr},
  };
  for (const Row& row : rows) {
    const Accepted accepted = counted(row.answer);
    CHECK(accepted.verdict.source == CounterSource::analytic);
    CHECK(accepted.verdict.stalls.empty());
    CHECK(accepted.measurement.counts[Counter::blocks].value == 64);
    REQUIRE_FALSE(accepted.verdict.digest.empty());
    const std::string& last = accepted.verdict.digest.back();
    CHECK((last.find("Counted without the chip's own counters: ") == 0) == (row.said != nullptr));
    if (row.said != nullptr) CHECK(last.find(row.said) != std::string::npos);
  }
}

TEST_CASE("the interpreter counts where the chip's counters are not all read", "[counters]") {
  const Attempt<std::vector<LaunchCounts>> read = std::vector<LaunchCounts>{launch(8e6, 1e6)};
  const Attempt<std::vector<LaunchCounts>> none = Error{ErrorCode::no_device, "none", ""};
  struct Row {
    Attempt<std::vector<LaunchCounts>> answer;
    CountPlan plan;
    bool interprets;
  };
  const Row rows[] = {{read, {CountDepth::all}, false},
                      {read, {CountDepth::few}, true},
                      {none, {CountDepth::all}, true},
                      {read, {CountDepth::all, "they have had their share"}, true}};
  for (const Row& row : rows) {
    Interpreter screen;
    const Accepted accepted = counted(row.answer, row.plan, &screen);
    CHECK(screen.asked == (row.interprets ? 1 : 0));
    CHECK((accepted.measurement.counts[Counter::barriers].value == 7) == row.interprets);
  }
}

TEST_CASE("counters that have had their time are left alone, and the verdict says so",
          "[counters]") {
  const Accepted accepted = counted(std::vector<LaunchCounts>{launch(8e6, 1e6)},
                                    {CountDepth::few, "they have had their share"});
  CHECK(accepted.verdict.source == CounterSource::analytic);
  CHECK(accepted.measurement.counts[Counter::dram_read_bytes].how == CountHow::unknown);
  CHECK(accepted.verdict.digest.back() ==
        "Counted without the chip's own counters: they have had their share.");
}

// A screen whose interpreter counts so many blocks, or works until it is stopped.
class Interpreting final : public Counting {
 public:
  explicit Interpreting(std::optional<double> blocks)
      : Counting(std::vector<LaunchCounts>{}), blocks_(blocks) {}
  Result<std::vector<SubjectReport>> measure(const TaskRef&, const Workload& workload,
                                             std::span<const Subject> subjects,
                                             const MeasureOptions&) override {
    sizes = workload.sizes;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    begun.set_value();
    while (!blocks_ && !stop_flags().wanted() && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    stopped = stop_flags().wanted();
    if (!blocks_) return stopped_error();
    std::vector<SubjectReport> reports(subjects.size());
    Measurement counted;
    counted.counts.source = CounterSource::interpreted;
    counted.counts[Counter::blocks] = {*blocks_, *blocks_, *blocks_, CountHow::exact};
    reports.front().measurement = std::move(counted);
    return reports;
  }

  Sizes sizes{};
  std::promise<void> begun{};
  bool stopped = false;

 private:
  std::optional<double> blocks_;
};

TEST_CASE("the screen's interpreter counts on a thread of its own, at full size",
          "[counters][threads]") {
  const Task task = *gemm_task({});
  Interpreting screen(96);
  Pipe pipe;
  pipe.task = TaskRef(task);
  pipe.screen = &screen;
  InterpretedWork work(pipe, {});
  const Counts counts = work.take();
  CHECK(counts.source == CounterSource::interpreted);
  CHECK(counts[Counter::blocks].value == 96);
  CHECK(screen.sizes == task.time_shapes.front().sizes);
}

TEST_CASE("nothing is counted without a screen, or by one that cannot run the kernel",
          "[counters][threads]") {
  const Task task = *gemm_task({});
  Counting lacking(std::vector<LaunchCounts>{});
  for (Backend* screen : {static_cast<Backend*>(nullptr), static_cast<Backend*>(&lacking)}) {
    Pipe pipe;
    pipe.task = TaskRef(task);
    pipe.screen = screen;
    InterpretedWork work(pipe, {});
    CHECK(work.take().source == CounterSource::none);
  }
}

TEST_CASE("a count that nobody takes is given up", "[counters][threads]") {
  const Task task = *gemm_task({});
  Interpreting screen(std::nullopt);
  Pipe pipe;
  pipe.task = TaskRef(task);
  pipe.screen = &screen;
  {
    const InterpretedWork work(pipe, {});
    screen.begun.get_future().wait();
  }
  CHECK(screen.stopped);
}

}  // namespace
}  // namespace cupilot
