#include "roofline/chart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include <cupilot/verdict.hpp>

namespace cupilot {
namespace {

double highest(const std::vector<RooflineCeiling>& ceilings) {
  double most = 0;
  for (const RooflineCeiling& ceiling : ceilings) most = std::max(most, ceiling.value);
  return most;
}

void widen(double& low, double& high, double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  low = low > 0 ? std::min(low, value) : value;
  high = std::max(high, value);
}

double decade_below(double value) { return std::pow(10, std::floor(std::log10(value) + 1e-9)); }

}  // namespace

double ChartRange::across(double intensity) const {
  return std::log(intensity / x_low) / std::log(x_high / x_low);
}
double ChartRange::up(double rate) const {
  return std::log(rate / y_low) / std::log(y_high / y_low);
}
double ChartRange::intensity_at(double share) const {
  return x_low * std::pow(x_high / x_low, share);
}

double roof_at(const RooflineChart& chart, double intensity) {
  // The first slope and the first roof are those that bind.
  const double slope = chart.slopes.empty() ? HUGE_VAL : chart.slopes.front().value * intensity;
  const double flat = chart.roofs.empty() ? HUGE_VAL : chart.roofs.front().value;
  return std::min(slope, flat);
}

ChartRange range_of(const RooflineChart& chart) {
  ChartRange range;
  const auto take = [&](const RooflinePoint& point) {
    widen(range.x_low, range.x_high, point.intensity);
    widen(range.y_low, range.y_high, point.rate);
  };
  for (const RooflinePoint& point : chart.population) take(point);
  if (chart.floor) take(*chart.floor);
  if (chart.champion) take(*chart.champion);
  for (const RooflineCeiling& slope : chart.slopes) {
    for (const RooflineCeiling& roof : chart.roofs)
      widen(range.x_low, range.x_high, roof.value / slope.value);
  }
  for (const RooflineCeiling& roof : chart.roofs) widen(range.y_low, range.y_high, roof.value);
  if (!(range.x_low > 0)) range.x_low = 1, range.x_high = 10;
  if (!(range.y_low > 0)) range.y_low = 1e9, range.y_high = std::max(1e12, highest(chart.roofs));
  range.x_low = decade_below(range.x_low / 2);
  range.x_high *= 2;
  range.y_low = decade_below(range.y_low / 1.5);
  range.y_high *= 2;
  return range;
}

std::string short_amount(double value) {
  constexpr std::pair<double, const char*> scales[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [scale, letter] : scales) {
    if (value >= scale * (1 - 1e-9)) return fmt::format("{:.3g} {}", value / scale, letter);
  }
  return fmt::format("{:.3g}", value);
}

Result<RooflineChart> roofline_of(const Task& task, const DeviceSpec& device) {
  RooflineChart chart;
  if (task.time_shapes.empty())
    return Error{ErrorCode::usage, "task " + task.name + " has no time shape", "name one"};
  const Workload& workload = task.time_shapes.front();
  const bool measured = !device.ceilings.empty();
  const auto rate = [&](Precision precision) {
    return (measured ? device.sustained_flops
                     : device.peak_flops)[static_cast<std::size_t>(precision)];
  };
  chart.title = task.name + " on " + (device.label.empty() ? device.name : device.label);
  chart.source = measured ? device.ceilings : "not measured on this device: " + device.source;
  chart.slopes = {{"DRAM", measured ? device.dram_sustained : device.dram_bytes_per_s},
                  {"L2", device.l2_bytes_per_s}};
  if (const double own = rate(task.precision); own > 0)
    chart.roofs.push_back({std::string(name_of(task.precision)), own});
  if (const double plain = rate(Precision::fp32_strict);
      plain > 0 && task.precision != Precision::fp32_strict)
    chart.roofs.push_back({std::string(name_of(Precision::fp32_strict)), plain});
  const auto floor = floor_us(task, workload, device, task.precision);
  const auto flops = textbook_flops(task, workload);
  const auto bytes = compulsory_bytes(task, workload);
  if (floor && flops && bytes && *floor > 0 && *flops > 0 && *bytes > 0) {
    chart.floor = {static_cast<double>(*flops) / static_cast<double>(*bytes),
                   static_cast<double>(*flops) / (*floor * 1e-6),
                   fmt::format("floor {:.4g} us", *floor)};
  }
  return chart;
}

}  // namespace cupilot
