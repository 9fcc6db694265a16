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

double elements_at(const Task& task, const Tensor& tensor, Workload at, const std::string& axis,
                   std::int64_t size) {
  at.sizes[axis] = size;
  const Result<TensorShape> shape = shape_of(task, tensor, at);
  return shape ? static_cast<double>(shape->elements) : 0;
}

// True if each unit of the axis has operands and results of its own, as a matrix of a batch does:
// nothing is read for two of them, so that no block computes a part of both.
bool has_own_operands(const Task& task, const Workload& at, const std::string& axis) {
  const auto grows = [&](const Tensor& tensor, const std::string& along) {
    return elements_at(task, tensor, at, along, 6) > elements_at(task, tensor, at, along, 3);
  };
  const auto is_operand = [&](const Tensor& tensor) {
    return tensor.role == Role::in &&
           std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& one) {
             return one.kind == AxisKind::reduced && grows(tensor, one.name);
           });
  };
  bool any = false;
  for (const Tensor& tensor : task.tensors) {
    if (!is_operand(tensor) && tensor.role != Role::out) continue;
    any = any || tensor.role == Role::in;
    const double one = elements_at(task, tensor, at, axis, 1);
    for (const std::int64_t units : {2, 3})
      if (elements_at(task, tensor, at, axis, units) != static_cast<double>(units) * one)
        return false;
  }
  return any;
}

// True if the plan's grids repeat whole with each unit of the axis, or, of units with operands of
// their own, stay as they are. staying: any grids of such units; of others, grids that repeat or
// never change, of which one does.
bool repeats(const Task& task, const PlanAt& plan_at, Workload at, const std::string& axis,
             std::int64_t full, Repeating which) {
  const bool own = has_own_operands(task, at, axis);
  if (own && which == Repeating::staying) return true;
  at.sizes[axis] = 1;
  const std::vector<double> one = blocks_at(plan_at, at);
  at.sizes[axis] = full;
  const std::vector<double> all = which == Repeating::staying ? blocks_at(plan_at, at) : one;
  bool any = false;
  for (const int units : {2, 3}) {
    at.sizes[axis] = units;
    const std::vector<double> more = blocks_at(plan_at, at);
    if (more.size() != one.size() || all.size() != one.size()) return false;
    for (std::size_t i = 0; i < one.size(); ++i) {
      const bool grows = more[i] == units * one[i], stays = more[i] == one[i];
      any = any || grows;
      if (!grows && !(stays && (own || (which == Repeating::staying && all[i] == one[i]))))
        return false;
    }
  }
  return !one.empty() && (any || own);
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
                                    const Workload& workload, std::int64_t step, Repeating which) {
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
    if (repeats(task, plan_at, small, axis.name, size->second, which)) repeated.insert(axis.name);
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
