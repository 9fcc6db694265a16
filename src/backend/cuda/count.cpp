// Hardware counters of a kernel: a third process runs it several times under the profiler, beside
// the two that prove and time.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "backend/cuda/device.hpp"
#include "backend/cuda/trials.hpp"
#include "backend/wire/counter_metrics.hpp"
#include "backend/worker/confine.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"

namespace cupilot {
namespace {

Error no_counting(const std::string& why) {
  return {ErrorCode::no_device,
          why.rfind("hardware counters", 0) == 0 ? why : "hardware counters: " + why,
          "go on without: verdicts then rest on the virtual device's counts"};
}

bool all_counted(const CountAnswer& answer) {
  for (const CountedLaunch& launch : answer.launches) {
    if (!std::all_of(launch.values.begin(), launch.values.end(),
                     [](double value) { return std::isfinite(value); }))
      return false;
  }
  return true;
}

}  // namespace

// Starts the process without waiting for it.
Result<void> CudaDevice::begin_counter() {
  loaded_[counter_role].clear();
  trusted_loaded_[counter_role] = counter_greeted_ = false;
  counted_set_ = 0;
  auto process = start_process(counter_role);
  if (!process) return process.error();
  processes_[counter_role] = std::move(*process);
  return {};
}

Result<void> CudaDevice::greet_counter() {
  if (counter_greeted_) return {};
  auto hello = greet(counter_role, processes_[counter_role]);
  if (!hello) return hello.error();
  if (!hello->usable) return unusable(*hello);
  counter_greeted_ = true;
  return {};
}

Result<void> CudaDevice::start_counter() {
  if (!processes_[counter_role]) {
    if (auto begun = begin_counter(); !begun) return begun;
  }
  if (auto greeted = greet_counter(); !greeted) return greeted;
  return trust_process(counter_role);
}

Result<void> CudaDevice::map_in_counter(const Slot& slot) {
  std::vector<int> descriptors;
  if (slot.descriptor >= 0) descriptors.push_back(slot.descriptor);
  const auto result = exchange(counter_role, DeviceMessage::map_slot, pack(mapping_of(slot)),
                               std::move(descriptors), deadlines_.slot);
  const Exchange* reply = std::get_if<Exchange>(&result);
  if (reply != nullptr && reply->answer.state == DeviceAnswer::State::done) return {};
  return Error{ErrorCode::failure,
               reply != nullptr ? reply->answer.what : std::get<FrameFailure>(result).message, ""};
}

// The process started, what the run needs mapped, the kernel loaded.
Result<void> CudaDevice::ready_counter(const NamedImage& image, std::optional<RunnerFault>& fault) {
  {
    const Phase phase("start");
    if (auto started = start_counter(); !started) return started;
  }
  const Phase phase("load");
  for (const Slot& slot : slots_) {
    if (!slot.leased) continue;
    if (auto mapped = map_in_counter(slot); !mapped) return mapped;
  }
  const LoadOrder order{image.name, image.image, image.entries, image.parameter_bytes};
  const auto result = exchange(counter_role, DeviceMessage::load, pack(order), {}, deadlines_.load);
  const Exchange* reply = std::get_if<Exchange>(&result);
  if (reply == nullptr)
    return Error{ErrorCode::failure, std::get<FrameFailure>(result).message, ""};
  if (reply->answer.state != DeviceAnswer::State::done) fault = fault_of(reply->answer, true);
  return {};
}

void CudaDevice::expect_counting() {
  if (processes_[counter_role] || !counters_lost_.empty()) return;
  (void)begin_counter();  // a failure is met, and said, when something is counted
}

// Returns one process's answer about the run; an Error when it reads no counters.
Result<std::variant<CountAnswer, RunnerFault>> CudaDevice::count_once(const NamedImage& image,
                                                                      const CountOrder& order,
                                                                      double seconds) {
  using Outcome = std::variant<CountAnswer, RunnerFault>;
  std::optional<RunnerFault> fault;
  if (auto ready = ready_counter(image, fault); !ready) return ready.error();
  if (fault) return Outcome(std::move(*fault));
  counted_set_ = order.counters;
  const auto result = exchange(counter_role, DeviceMessage::count, pack(order), {}, seconds);
  if (const auto* failure = std::get_if<FrameFailure>(&result)) {
    if (failure->kind == FrameFailure::Kind::stopped) return stopped_error();
    const bool late = failure->kind == FrameFailure::Kind::timeout;
    return Outcome(RunnerFault{late ? "run.hang" : "run.crash",
                               "under the hardware counters: " + failure->message, "", false});
  }
  const DeviceAnswer& said = std::get<Exchange>(result).answer;
  auto answer =
      said.state == DeviceAnswer::State::done ? unpack_count_answer(said.payload) : std::nullopt;
  if (!answer && said.state == DeviceAnswer::State::refused && said.code == no_counters)
    return Error{ErrorCode::no_device, said.what, ""};
  if (!answer) return Outcome(fault_of(said, false));
  if (!all_counted(*answer))
    return Error{ErrorCode::failure, "a counter came back without a value", ""};
  credit("passes", answer->seconds);
  // The judge may give memory back before the next kernel is counted.
  (void)exchange(counter_role, DeviceMessage::drop_slots, "", {}, deadlines_.slot);
  return Outcome(std::move(*answer));
}

Result<std::variant<CountAnswer, RunnerFault>> CudaDevice::count(const NamedImage& image,
                                                                 const CountOrder& order,
                                                                 double seconds) {
  const Phase phase("counter");
  // A process that had counted one set of them was seen to die, or to go on with the first, when it
  // was asked for another (H200, CUPTI 13.0).
  if (counted_set_ != 0 && counted_set_ != order.counters) finish_counting();
  // Reading counters may ask for more than running does: under less confinement until it works, or
  // never again.
  while (counters_lost_.empty()) {
    auto counted = count_once(image, order, seconds);
    if (counted && std::holds_alternative<CountAnswer>(*counted)) return counted;
    finish_counting();
    if (counted) return counted;
    if (stop_flags().cancelled()) return stopped_error();
    if (++counter_confinement_ >= confine_levels) counters_lost_ = counted.error().message;
  }
  return no_counting(counters_lost_);
}

namespace {

Counts counts_of(const CountedLaunch& counted, const WireLaunch& launch) {
  Counts counts;
  counts.source = CounterSource::counters;
  for (std::size_t i = 0; i < counter_count; ++i) {
    if ((counted.known & mask_of(static_cast<Counter>(i))) == 0) continue;
    counts.all[i] = {counted.values[i], counted.values[i], counted.values[i], CountHow::exact};
  }
  const double blocks = static_cast<double>(launch.grid[0]) * static_cast<double>(launch.grid[1]) *
                        static_cast<double>(launch.grid[2]);
  counts[Counter::blocks] = {blocks, blocks, blocks, CountHow::exact};
  return counts;
}

}  // namespace

Attempt<CountedRun> CudaTrials::count(const TaskRef& task, const CompiledKernel& kernel,
                                      const Workload& workload, CountDepth depth) {
  Case what;
  what.workload = workload;
  auto placement = place(task, what, Fence::end);
  if (!placement) return placement.error();
  auto resolution = resolve(kernel.source, task, workload, spec_, &kernel);
  if (!resolution) return resolution.failure();
  if (const auto* other = std::get_if<NotForThisShape>(&*resolution))
    return reject("verify.no_shape",
                  "the kernel is not meant for the counted shape: " + other->require);
  auto placed = place_kernel(task, *placement, kernel, std::get<ResolvedPlan>(*resolution));
  if (!placed) return placed.failure();
  const Trial trial{task, what, *placement, &*placed};
  auto faulted = run_setup(trial);
  if (!faulted) return faulted.error();
  if (*faulted) return reject((*faulted)->code, (*faulted)->message, (*faulted)->where);
  // Its counts are thrown away, so no reference values are wanted.
  auto items = initialising(trial, FillState::poison);
  if (!items) return items.error();
  if (auto prepared =
          device_.judge(DeviceMessage::prepare, pack(PrepareOrder{std::move(*items), {}}));
      !prepared)
    return prepared.error();
  auto counted = device_.count(*placed->image, {placed->run, counters_of(depth, task->precision)},
                               2 * trial_seconds_);
  if (!counted) return counted.error();
  if (const auto* fault = std::get_if<RunnerFault>(&*counted))
    return reject(fault->code, fault->message, fault->where);
  const auto& answer = std::get<CountAnswer>(*counted);
  if (answer.launches.size() != placed->run.launches.size())
    return Error{ErrorCode::failure, "the counter gave an answer that fits no plan", ""};
  CountedRun run{{}, {}, answer.chip, static_cast<int>(answer.passes), answer.seconds};
  for (std::size_t i = 0; i < answer.launches.size(); ++i) {
    run.launches.push_back(
        {counts_of(answer.launches[i], placed->run.launches[i]), answer.launches[i].warps});
    run.us.push_back(answer.launches[i].us);
  }
  return run;
}

}  // namespace cupilot
