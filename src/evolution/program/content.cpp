#include "evolution/program/content.hpp"

#include <algorithm>
#include <cmath>

#include "backend/oracle/inputs.hpp"

namespace cupilot {
namespace {

constexpr double affordable_flops = 4e6;
constexpr std::int64_t least_extent = 8;
constexpr std::uint64_t seed = 1;

// The first time shape with its extents halved, from the largest on, until the reference is cheap.
Workload small_shape(const Task& task) {
  Workload small = task.time_shapes.front();
  const auto too_expensive = [&] {
    const auto flops = textbook_flops(task, small);
    const auto bytes = compulsory_bytes(task, small);
    return !flops || !bytes ||
           static_cast<double>(*flops) + static_cast<double>(*bytes) > affordable_flops;
  };
  while (too_expensive()) {
    std::int64_t* largest = nullptr;
    for (const Axis& axis : task.axes) {
      const auto size = small.sizes.find(axis.name);
      if (axis.kind == AxisKind::fixed || size == small.sizes.end()) continue;
      if (size->second >= 2 * least_extent && (largest == nullptr || size->second > *largest))
        largest = &size->second;
    }
    if (largest == nullptr) break;
    *largest /= 2;
  }
  return small;
}

double two_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 1);
  return std::round(value / unit) * unit;
}

std::optional<Fill> fill_like(const std::vector<double>& values) {
  double sum = 0, squares = 0, least = INFINITY;
  std::size_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    squares += value * value;
    least = std::min(least, value);
    ++count;
  }
  if (count < 2) return std::nullopt;
  const double n = static_cast<double>(count), mean = sum / n;
  const double deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  if (deviation <= 0) return std::nullopt;
  Fill fill;
  if (least >= 0) {
    fill.kind = FillKind::uniform;
    const double half = std::sqrt(3.0) * deviation;
    fill.low = two_digits(std::max(0.0, mean - half));
    fill.high = two_digits(mean + half);
  } else {
    const double middle = std::abs(mean) < 0.05 * deviation ? 0.0 : mean;
    fill.low = two_digits(middle);
    fill.high = two_digits(deviation);
  }
  return fill;
}

}  // namespace

EdgeFills edge_fills(const Task& task, Backend& backend) {
  EdgeFills fills;
  auto made = exposed_task(task, edge_names(task));
  if (!made || task.edges.empty()) return fills;
  const TaskRef exposed(std::move(*made));
  const Workload small = small_shape(task);
  VirtualInputs inputs(std::int64_t{1} << 28);
  std::vector<std::vector<std::byte>> tensors(exposed->tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (exposed->tensors[i].role == Role::out) continue;
    const auto bytes = inputs.get(exposed, i, small, {.seed = seed});
    if (!bytes) return fills;
    tensors[i] = **bytes;
  }
  const auto values = backend.inspector().reference(exposed, small, tensors);
  if (!values) return fills;
  for (const ReferenceValues& one : *values) {
    // A body may carry what is an output.
    if (find_edge(task, one.tensor) == nullptr && task.repeats.empty()) continue;
    if (const auto fill = fill_like(one.values)) fills[one.tensor] = *fill;
  }
  return fills;
}

}  // namespace cupilot
