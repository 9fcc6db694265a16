// Contestants timed on every time shape of a task, and what keeps a number from being believed.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/verdict.hpp>

namespace cupilot {

struct Timed {
  SubjectReport report;  // over all time shapes: times are means weighted by the shapes' weights
  std::vector<double>
      shape_us;  // one per time shape, in the task's order; empty when there is no time
};

// In the order of the contestants. A time that is no number, or that is longer than the timing
// itself took, is measure.failed.
Result<std::vector<Timed>> measure_all(const TaskRef& task, Backend& backend,
                                       std::span<const Subject> contestants,
                                       const MeasureOptions& options);

// floor.impossible when a shape's time lies below the floor of the weakest class the contract
// allows, less the margin that clocks above their nominal rate may take. Where the task is a graph
// of several operators, a kernel that does fewer operations than its text passes: a measured time
// when the chip's counters show that it can be, a modelled one when its counts are exact. The
// counts of the first shape are then put into the report's measurement.
Result<std::optional<Rejected>> below_floor(const TaskRef& task, Backend& backend,
                                            const CompiledKernel& kernel, Precision proved,
                                            Timed& timed);

// True when a time of so many microseconds is not below what `counts` ask of the device, and they
// may set the floor.
bool counts_allow(const Task& task, const Workload& workload, const DeviceSpec& device,
                  const Counts& counts, double us);

// 95 % interval of a median by order statistics: ranks n/2 -+ 0.98 sqrt(n) (normal limit of the
// binomial).
std::pair<double, double> median_interval(std::vector<double> values);

// Longer than any launch may take.
inline constexpr double longest_us = 86400e6;

// One set of timed contents a search: a device keeps their reference values, which cost more than a
// candidate's launches.
std::uint64_t timing_seed(std::uint64_t search_seed);

// The least mean over all time shapes that below_floor() lets pass, microseconds.
Result<double> least_mean_us(const Task& task, const DeviceSpec& device, Precision proved);

// The floor of what `counts` say was executed at the first time shape, microseconds.
Result<double> short_cut_floor(const Task& task, const DeviceSpec& device, const Counts& counts);

// Mean of the floors of all time shapes, microseconds.
Result<double> mean_floor(const Task& task, const DeviceSpec& device, Precision precision);

}  // namespace cupilot
