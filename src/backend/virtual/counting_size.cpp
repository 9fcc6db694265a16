// At which size a launch's blocks are counted, by the host memory that takes.
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

Workload counting_workload(const Task& task, const PlanAt& plan_at, const Workload& workload,
                           std::int64_t step) {
  const auto bytes = [&](const Workload& at) { return host_bytes(task, plan_at, at); };
  Workload smaller = workload;
  while (bytes(smaller) > counting_bytes) {
    std::string longest;
    for (const Axis& axis : task.axes) {
      if (axis.kind != AxisKind::free || smaller.sizes.count(axis.name) == 0) continue;
      if (longest.empty() || smaller.sizes.at(axis.name) > smaller.sizes.at(longest))
        longest = axis.name;
    }
    if (longest.empty() || smaller.sizes.at(longest) < 4 * step) break;
    Workload next = smaller;
    const std::int64_t extent = smaller.sizes.at(longest);
    next.sizes[longest] = extent / step / 2 * step + extent % step;
    if (bytes(next) < 0) break;
    smaller = next;
  }
  return smaller;
}

}  // namespace cupilot
