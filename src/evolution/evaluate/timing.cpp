#include "evolution/evaluate/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/rng.hpp>

#include "base/phases.hpp"
#include "evolution/evaluate/count_work.hpp"
#include "roofline/floors.hpp"

namespace cupilot {
namespace {

constexpr double shortest_us = 0.1;  // below what any device's events resolve

std::optional<Rejected> no_number(const Measurement& measurement, double elapsed_us) {
  double sum = 0;
  std::vector<double> times = measurement.samples_us;
  times.push_back(measurement.time_us);
  for (const double us : times) {
    if (!std::isfinite(us) || us <= 0)
      return reject("measure.failed", "a time is not a positive number");
    if (us > longest_us)
      return reject("measure.failed", fmt::format("a time of {:.4g} us is longer than a day", us));
  }
  for (const double us : measurement.samples_us) sum += us;
  if (measurement.provenance == Provenance::measured && sum > elapsed_us) {
    return reject(
        "measure.failed",
        fmt::format("its samples add up to {:.4g} us, but timing took {:.4g} us", sum, elapsed_us));
  }
  if (!measurement.samples_us.empty()) {
    const auto [low, high] =
        std::minmax_element(measurement.samples_us.begin(), measurement.samples_us.end());
    const double slack = 1e-9 * std::abs(*high);
    if (measurement.time_us < *low - slack || measurement.time_us > *high + slack) {
      return reject("measure.failed", fmt::format("its time of {:.4g} us is not among its samples",
                                                  measurement.time_us));
    }
  }
  if (measurement.too_short) {
    return reject("measure.failed",
                  fmt::format("{:.4g} us is not told from an empty launch, which takes {:.4g} us",
                              measurement.time_us, measurement.resolution_us));
  }
  return std::nullopt;
}

double believable_us(double floor_us) { return std::max(floor_margin * floor_us, shortest_us); }

// The shortest time at one shape that below_floor() lets pass.
Result<double> believable_floor_us(const Task& task, const Workload& workload,
                                   const DeviceSpec& device, Precision precision) {
  auto us = floor_beside_updates_us(task, workload, device, precision);
  if (us) us = believable_us(*us);
  return us;
}

// Weighted mean of a floor of each of the task's time shapes.
Result<double> mean_of_floors(const Task& task, const DeviceSpec& device, Precision precision,
                              Result<double> (*floor)(const Task&, const Workload&,
                                                      const DeviceSpec&, Precision)) {
  double sum = 0, weights = 0;
  for (const Workload& workload : task.time_shapes) {
    auto us = floor(task, workload, device, precision);
    if (!us) return us.error();
    sum += workload.weight * *us;
    weights += workload.weight;
  }
  return sum / weights;
}

// Adds `weight` parts of a shape's measurement to what other shapes gave.
void blend(Measurement& total, const Measurement& more, double weight) {
  total.time_us += weight * more.time_us;
  total.spread_us += weight * more.spread_us;
  total.interval_low_us += weight * more.interval_low_us;
  total.interval_high_us += weight * more.interval_high_us;
  total.samples_us.resize(std::min(total.samples_us.size(), more.samples_us.size()));
  for (std::size_t i = 0; i < total.samples_us.size(); ++i)
    total.samples_us[i] += weight * more.samples_us[i];
}

void scale(Measurement& measurement, double factor) {
  measurement.time_us *= factor;
  measurement.spread_us *= factor;
  measurement.interval_low_us *= factor;
  measurement.interval_high_us *= factor;
  for (double& us : measurement.samples_us) us *= factor;
}

void take(Timed& timed, SubjectReport report, double weight, double elapsed_us, bool first) {
  if (report.measurement) {
    if (auto refused = no_number(*report.measurement, elapsed_us))
      report.measurement = std::move(*refused);
  }
  if (report.measurement) timed.shape_us.push_back(report.measurement->time_us);
  if (first) {
    timed.report = std::move(report);
    if (timed.report.measurement) scale(*timed.report.measurement, weight);
    return;
  }
  for (CaseReport& proof : report.proofs) timed.report.proofs.push_back(std::move(proof));
  if (!timed.report.measurement) return;
  if (!report.measurement) {
    timed.report.measurement = std::move(report.measurement);
    return;
  }
  blend(*timed.report.measurement, *report.measurement, weight);
}

}  // namespace

Result<std::vector<Timed>> measure_all(const TaskRef& task, Backend& backend,
                                       std::span<const Subject> contestants,
                                       const MeasureOptions& options) {
  std::vector<Timed> total(contestants.size());
  double weights = 0;
  for (const Workload& workload : task->time_shapes) weights += workload.weight;
  const bool replayed = backend.identity().starts_with(
      "recorded:");  // its measurements took their time when they were made
  for (std::size_t shape = 0; shape < task->time_shapes.size(); ++shape) {
    const Workload& workload = task->time_shapes[shape];
    const auto began = std::chrono::steady_clock::now();
    auto reports = backend.measure(task, workload, contestants, options);
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - began;
    const double elapsed_us = replayed ? HUGE_VAL : elapsed.count();
    if (!reports) return reports.error();
    if (reports->size() != contestants.size()) {
      return Error{ErrorCode::failure,
                   fmt::format("the backend answered for {} of {} contestants", reports->size(),
                               contestants.size()),
                   "this is a fault of the backend"};
    }
    for (std::size_t i = 0; i < reports->size(); ++i) {
      take(total[i], std::move((*reports)[i]), workload.weight / weights, elapsed_us, shape == 0);
    }
  }
  for (Timed& timed : total) {
    if (!timed.report.measurement) timed.shape_us.clear();
  }
  return total;
}

bool counts_allow(const Task& task, const Workload& workload, const DeviceSpec& device,
                  const Counts& counts, double us) {
  if (!counts_set_floor(task, device, counts)) return false;
  const auto floor = executed_floor_us(task, workload, device, counts);
  return floor && us >= believable_us(*floor);
}

namespace {

// The work of a kernel whose time at time shape `i` is below the floor of the task's text; no
// counts where there are none, and `why`. Rejected when the kernel faults under the counters.
Attempt<Counts> counts_of_short_cut(const TaskRef& task, std::size_t i, Backend& backend,
                                    const CompiledKernel& kernel, const Measurement& measurement,
                                    std::string& why) {
  if (task->operations.size() < 2) return Counts{};
  if (measurement.provenance == Provenance::modelled)  // its counts are those of the first shape
    return i == 0 ? measurement.counts : Counts{};
  const Phase phase("counters");
  const auto launches =
      backend.inspector().count(task, kernel, task->time_shapes[i], CountDepth::all);
  if (launches) return sum_of(*launches);
  if (launches.is_rejected()) return launches.rejected();
  const ErrorCode code = launches.error().code;
  if (code != ErrorCode::usage && code != ErrorCode::no_device) return launches.error();
  why = launches.error().message;
  return Counts{};
}

}  // namespace

Result<std::optional<Rejected>> below_floor(const TaskRef& task, Backend& backend,
                                            const CompiledKernel& kernel, Precision proved,
                                            Timed& timed) {
  const DeviceSpec& device = backend.device();
  for (std::size_t i = 0; i < timed.shape_us.size(); ++i) {
    const Workload& shape = task->time_shapes[i];
    auto floor = floor_us(*task, shape, device, proved);
    if (!floor) return floor.error();
    const double us = timed.shape_us[i], least = believable_us(*floor);
    const auto beside = believable_floor_us(*task, shape, device, proved);
    if (!beside) return beside.error();
    if (us >= *beside) continue;
    Measurement& measurement = *timed.report.measurement;
    std::string why;
    const auto counts = counts_of_short_cut(task, i, backend, kernel, measurement, why);
    if (counts.is_error()) return counts.error();
    if (counts.is_rejected()) return std::optional(counts.rejected());
    if (counts_allow(*task, shape, device, *counts, us)) {
      if (i == 0) measurement.counts = *counts;
      continue;
    }
    std::string says = fmt::format("{:.4g} us {} lies below the floor of {:.4g} us", us,
                                   name_of(measurement.provenance), least);
    if (!why.empty()) says += "; executed operations were not counted: " + why;
    return std::optional(reject("floor.impossible", says));
  }
  return std::optional<Rejected>();
}

Result<double> short_cut_floor(const Task& task, const DeviceSpec& device, const Counts& counts) {
  return executed_floor_us(task, task.time_shapes.front(), device, counts);
}

Result<double> mean_floor(const Task& task, const DeviceSpec& device, Precision precision) {
  return mean_of_floors(task, device, precision, floor_us);
}

Result<double> least_mean_us(const Task& task, const DeviceSpec& device, Precision proved) {
  return mean_of_floors(task, device, proved, believable_floor_us);
}

std::uint64_t timing_seed(std::uint64_t search_seed) {
  return Rng::of(search_seed, "measure").next();
}

std::pair<double, double> median_interval(std::vector<double> values) {
  if (values.empty()) return {0, 0};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const auto low =
      static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - 0.98 * std::sqrt(count))));
  return {values[low], values[values.size() - 1 - low]};
}

}  // namespace cupilot
