#include <algorithm>
#include <cupilot/parts/verification.hpp>
#include <numeric>

#include "verify/shapes.hpp"

namespace cupilot {
namespace {

// Vector widths and alignments divide 16.
constexpr std::int64_t alignment = 16;
constexpr std::int64_t largest_period = 1 << 16;

// After how many elements the kernel treats an axis alike again.
std::int64_t period_of(const std::vector<std::int64_t>& steps) {
  std::int64_t period = alignment;
  for (const std::int64_t step : steps) {
    const std::int64_t next = std::lcm(period, step);
    if (next <= largest_period) period = next;
  }
  return period;
}

// The least size of the same residue that is at least `least`, or `size` where that is no smaller.
std::int64_t reduced_size(std::int64_t size, std::int64_t period, std::int64_t least) {
  const std::int64_t residue = size % period;
  std::int64_t out = residue == 0 ? period : residue;
  if (out < least) out += (least - out + period - 1) / period * period;
  return std::min(out, size);
}

}  // namespace

Workload shrink(const Task& task, const KernelSource& source, const Workload& workload,
                const DeviceSpec& device, int tiles, int slabs) {
  const PlanSteps steps = plan_steps(task, source, device);
  const PlanRequirements requirements(source, task, device);
  // A plan may need more than its steps tell (a minimum size): grow until it accepts, in the end
  // the shape itself.
  for (std::int64_t factor = 1; factor <= 16; factor *= 2) {
    Workload small = workload;
    for (const Axis& axis : task.axes) {
      if (axis.kind == AxisKind::fixed) continue;
      std::int64_t& size = small.sizes[axis.name];
      const std::int64_t step = steps.step(axis.name);
      const bool reduced = axis.kind == AxisKind::reduced;
      const std::int64_t wanted =
          reduced ? std::max({std::int64_t{slabs}, steps.stages + 1, 2 * steps.split})
                  : std::int64_t{tiles};
      if (step == 1 && !reduced) {
        size = std::min(size, wanted * factor);
        continue;
      }
      size = reduced_size(size, period_of(steps.by_axis.at(axis.name)), wanted * step * factor);
    }
    if (requirements.hold(small)) return small;
  }
  return workload;
}

}  // namespace cupilot
