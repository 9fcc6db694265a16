// The counter: a runner that reads hardware counters and times nothing, so that no profiler sits in
// the process that times.
#include <algorithm>
#include <chrono>

#include "backend/counters/counters.hpp"
#include "backend/wire/counter_metrics.hpp"
#include "backend/worker/launch.hpp"
#include "backend/worker/roles.hpp"
#include "backend/worker/serve.hpp"
#include "backend/worker/timed_runner.hpp"

namespace cupilot {
namespace {

using HostClock = std::chrono::steady_clock;

// Taken before any module is loaded and before the process is confined further: opening them reads
// files and libraries.
Result<RangeCounters> take_counters(const CudaSession& session, int device) {
  if (!session.hello().usable) return Error{ErrorCode::no_device, session.hello().reason, ""};
  return RangeCounters::open(session.context(), static_cast<std::size_t>(device));
}

std::string said(const Error& error) {
  return error.hint.empty() ? error.message : error.message + "; " + error.hint;
}

void need(const Result<void>& done) {
  if (!done) throw OrderRefused{no_counters, done.error().message};
}

std::vector<CountedLaunch> counted(const std::string& chip, std::uint64_t counters,
                                   const std::vector<std::string>& metrics,
                                   const std::vector<std::vector<double>>& values) {
  std::vector<CountedLaunch> launches;
  for (const std::vector<double>& row : values) {
    const auto value_of = [&](std::string_view metric) {
      const auto at = std::find(metrics.begin(), metrics.end(), metric) - metrics.begin();
      return row.at(static_cast<std::size_t>(at));
    };
    CountedLaunch& launch = launches.emplace_back();
    launch.us = value_of(duration_metric) * 1e-3;
    for (const MetricTerm& term : counter_metrics(chip)) {
      if ((counters & mask_of(term.counter)) == 0) continue;
      launch.values[static_cast<std::size_t>(term.counter)] += term.factor * value_of(term.metric);
      launch.known |= mask_of(term.counter);
    }
    if ((counters & stalls_bit) == 0) continue;
    for (const StallMetric& term : stall_metrics(chip))
      launch.warps[term.stall] = value_of(term.metric);
    if (!stall_metrics(chip).empty()) launch.warps.resident = value_of(resident_metric);
  }
  return launches;
}

std::string count(CudaSession& session, TimedRunner& visitor, LibrarySteps& library,
                  RangeCounters& ranges, const std::string& chip, const CountOrder& order) {
  const auto begin = HostClock::now();
  const auto launches = prepare_launches(session, library, order.run, AlgorithmChoice::fastest);
  std::vector<std::string> metrics = metrics_of(chip, order.counters);
  if (metrics.empty())
    throw OrderRefused{no_counters,
                       "no table of hardware counters for a chip that CUPTI calls " + chip};
  metrics.emplace_back(duration_metric);
  need(ranges.choose(metrics, launches.size()));
  const auto work = [&](bool counting) {
    for (const Region& region : order.run.poison) initialise(session, region, FillState::poison);
    visitor.scrub_all();
    session.synchronize();
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (counting) ranges.begin();
      if (i == 0) clear(session, order.run.zeroed);
      launch_one(*launches[i]);
      session.synchronize();
      if (counting) ranges.end();
    }
  };
  work(false);  // loads what the driver loads at first use
  const auto values = ranges.collect([&] { work(true); });
  if (!values) throw OrderRefused{no_counters, values.error().message};
  if (values->size() != launches.size())
    throw OrderRefused{no_counters, "the profiler lost a launch"};
  return pack(CountAnswer{chip, ranges.passes(),
                          std::chrono::duration<double>(HostClock::now() - begin).count(),
                          counted(chip, order.counters, metrics, *values)});
}

}  // namespace

int serve_counter(const DeviceRole& role) {
  ConfinedSession confined(role);
  CudaSession& session = confined.session;
  Result<RangeCounters> ranges = take_counters(session, role.device);
  const std::string chip = chip_of(static_cast<std::size_t>(role.device));
  TimedRunner visitor(session);
  LibrarySteps library(session, visitor, LibraryPlaces::loader_and_toolkit, confined.cudnn);
  const auto work = [&](const Frame& frame) -> std::optional<std::string> {
    const auto order = unpack_count(frame.body);
    if (!order) return std::nullopt;
    if (!ranges) throw OrderRefused{no_counters, said(ranges.error())};
    return count(session, visitor, library, *ranges, chip, *order);
  };
  return serve_launches(confined, visitor, DeviceMessage::count, work, [&] {
    if (ranges) ranges->prepare();
  });
}

}  // namespace cupilot
