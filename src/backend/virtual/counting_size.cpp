// At which size a launch's blocks are counted, by the host memory that takes.
#include <algorithm>
#include <optional>

#include "backend/virtual/counts.hpp"

namespace cupilot {

std::int64_t host_bytes(const Task& task, const PlanAt& plan_at, const Workload& at) {
  const Attempt<Resolution> resolution = plan_at(at);
  if (!resolution || !std::holds_alternative<ResolvedPlan>(*resolution)) return -1;
  std::int64_t sum = 0;
  for (const ResolvedBuffer& buffer : std::get<ResolvedPlan>(*resolution).buffers)
    sum += 2 * buffer.bytes;
  for (const Tensor& tensor : task.tensors) {
    const Result<TensorShape> shape = shape_of(task, tensor, at);
    if (shape) sum += shape->span * size_of(tensor.type) * (tensor.role == Role::in ? 1 : 2);
  }
  return sum;
}

namespace {

// Blocks of each timed launch; none: the plan is not for it.
std::vector<double> blocks_at(const PlanAt& plan_at, const Workload& at) {
  std::vector<double> blocks;
  const Attempt<Resolution> resolution = plan_at(at);
  if (!resolution || !std::holds_alternative<ResolvedPlan>(*resolution)) return blocks;
  for (const ResolvedLaunch& launch : std::get<ResolvedPlan>(*resolution).launches) {
    if (launch.when == When::run)
      blocks.push_back(static_cast<double>(launch.grid[0] * launch.grid[1] * launch.grid[2]));
  }
  return blocks;
}

bool repeats(const PlanAt& plan_at, Workload at, const std::string& axis) {
  at.sizes[axis] = 1;
  const std::vector<double> one = blocks_at(plan_at, at);
  for (const int units : {2, 3}) {
    at.sizes[axis] = units;
    const std::vector<double> more = blocks_at(plan_at, at);
    const auto times = [&](double few, double many) { return many == units * few; };
    if (!std::equal(one.begin(), one.end(), more.begin(), more.end(), times)) return false;
  }
  return !one.empty();
}

// Halves the longest of the axes that can be; false: none can.
bool halve(const std::set<std::string>& axes, Sizes& sizes) {
  constexpr std::int64_t least = 4;
  std::string longest;
  for (const std::string& axis : axes) {
    if (longest.empty() || sizes.at(axis) > sizes.at(longest)) longest = axis;
  }
  if (longest.empty() || sizes.at(longest) < least) return false;
  sizes[longest] /= 2;
  return true;
}

}  // namespace

std::set<std::string> repeated_axes(const Task& task, const PlanAt& plan_at,
                                    const Workload& workload, std::int64_t step) {
  Workload small = workload;
  for (const Axis& axis : task.axes) {
    const auto size = small.sizes.find(axis.name);
    if (axis.kind != AxisKind::free || size == small.sizes.end()) continue;
    const std::int64_t rest = size->second % step;
    size->second = rest > 0 ? rest : step;
  }
  std::set<std::string> repeated;
  for (const Axis& axis : task.axes) {
    const auto size = workload.sizes.find(axis.name);
    if (axis.kind != AxisKind::free || size == workload.sizes.end() || size->second < 2) continue;
    if (repeats(plan_at, small, axis.name)) repeated.insert(axis.name);
  }
  return repeated;
}

Workload counting_workload(const Task& task, const PlanAt& plan_at, const Workload& workload,
                           std::int64_t step) {
  const auto bytes = [&](const Workload& at) { return host_bytes(task, plan_at, at); };
  std::optional<std::set<std::string>> repeated;
  Workload smaller = workload;
  while (bytes(smaller) > counting_bytes) {
    std::string longest;
    for (const Axis& axis : task.axes) {
      if (axis.kind != AxisKind::free || smaller.sizes.count(axis.name) == 0) continue;
      if (longest.empty() || smaller.sizes.at(axis.name) > smaller.sizes.at(longest))
        longest = axis.name;
    }
    if (longest.empty()) break;
    Workload next = smaller;
    const std::int64_t extent = smaller.sizes.at(longest);
    if (extent < 4 * step) {
      if (!repeated) repeated = repeated_axes(task, plan_at, workload, step);
      if (!halve(*repeated, next.sizes)) break;
    } else {
      next.sizes[longest] = extent / step / 2 * step + extent % step;
    }
    if (bytes(next) < 0) break;
    smaller = next;
  }
  return smaller;
}

}  // namespace cupilot
