#include "evolution/evaluate/count_work.hpp"

#include <algorithm>

#include "base/phases.hpp"
#include "base/stop.hpp"

namespace cupilot {
namespace {

Counts interpreted_work(const Pipe& pipe, const CompiledKernel& kernel) {
  if (pipe.screen == nullptr) return {};
  const Subject alone[] = {{Subject::Kind::candidate, "candidate", &kernel}};
  const auto reports = pipe.screen->measure(pipe.task, pipe.task->time_shapes.front(), alone, {});
  if (!reports || !reports->front().measurement) return {};
  return reports->front().measurement->counts;
}

void overlay(Counts& counts, const std::vector<LaunchCounts>& launches) {
  const Counts sum = sum_of(launches);
  for (std::size_t i = 0; i < counter_count; ++i) {
    if (sum.all[i].how != CountHow::unknown) counts.all[i] = sum.all[i];
  }
  if (sum.source != CounterSource::none) counts.source = sum.source;
}

WarpCycles joined(const std::vector<LaunchCounts>& launches) {
  WarpCycles sum;
  for (const LaunchCounts& launch : launches) {
    sum.resident += launch.warps.resident;
    for (std::size_t i = 0; i < stall_count; ++i) sum.spent[i] += launch.warps.spent[i];
  }
  return sum;
}

}  // namespace

Counts sum_of(const std::vector<LaunchCounts>& launches) {
  if (launches.empty()) return {};
  Counts sum = launches.front().work;
  for (std::size_t launch = 1; launch < launches.size(); ++launch) {
    const Counts& more = launches[launch].work;
    sum.source = more.source;
    for (std::size_t i = 0; i < counter_count; ++i) {
      Count& one = sum.all[i];
      const bool known = one.how != CountHow::unknown && more.all[i].how != CountHow::unknown;
      one.how = known ? std::max(one.how, more.all[i].how) : CountHow::unknown;
      one.value += more.all[i].value;
      one.low += more.all[i].low;
      one.high += more.all[i].high;
    }
  }
  return sum;
}

InterpretedWork::InterpretedWork(const Pipe& pipe, const CompiledKernel& kernel)
    : counts_(std::async(std::launch::async, [this, &pipe, &kernel, cancel = stop_flags().cancel] {
        const StopScope stopped({cancel, &over_});
        const PhaseLog log;
        Counts counts = interpreted_work(pipe, kernel);
        return std::pair(std::move(counts), log.cpu());
      })) {}

Counts InterpretedWork::take() {
  const Phase phase("virtual counts");
  auto [counts, cpu] = counts_.get();
  credit(cpu);
  return counts;
}

Result<void> count_work(const Pipe& pipe, const CompiledKernel& kernel, const CountPlan& plan,
                        Accepted& accepted, std::optional<Counts> interpreted) {
  const Workload& workload = pipe.task->time_shapes.front();
  Measurement& measurement = accepted.measurement;
  Attempt<std::vector<LaunchCounts>> counted = Error{ErrorCode::budget, plan.without, ""};
  if (plan.without.empty()) {
    const Phase phase("counters");
    counted = pipe.backend->inspector().count(pipe.task, kernel, workload, plan.depth);
  }
  // The chip has counted a short cut already.
  const bool all =
      (counted && plan.reads_all()) || measurement.counts.source == CounterSource::counters;
  if (!all) {
    const Phase phase("virtual counts");
    Counts counts = interpreted ? std::move(*interpreted) : interpreted_work(pipe, kernel);
    if (counts.source != CounterSource::none) measurement.counts = std::move(counts);
  }
  if (counted) overlay(measurement.counts, *counted);
  if (counted.is_error() && counted.error().code == ErrorCode::no_device && plan.lost)
    plan.lost(counted.error().message);
  const WarpCycles warps = counted ? joined(*counted) : WarpCycles{};
  auto verdict = judge(pipe.task, workload, pipe.backend->device(), measurement, warps);
  if (!verdict) return verdict.error();
  accepted.verdict = std::move(*verdict);
  // A device that has none need not say so with every kernel.
  if (!counted && (counted.is_rejected() || counted.error().code != ErrorCode::usage)) {
    const std::string& why =
        counted.is_error() ? counted.error().message : counted.rejected().message;
    accepted.verdict.digest.push_back("Counted without the chip's own counters: " + why + ".");
  }
  return {};
}

}  // namespace cupilot
