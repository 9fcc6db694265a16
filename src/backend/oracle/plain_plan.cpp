#include "backend/oracle/plain_plan.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "task/reference/stage_plan.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t threads = 256;

using Kind = ResolvedArgument::Kind;

template <class T>
ResolvedArgument word(T value) {
  static_assert(sizeof(T) == 8);
  ResolvedArgument argument;
  argument.bytes.resize(8);
  std::memcpy(argument.bytes.data(), &value, 8);
  return argument;
}

ResolvedArgument buffer_at(int buffer) {
  return {buffer < 0 ? Kind::null_pointer : Kind::buffer, std::max(buffer, 0), {}};
}

// Parameters that all entries begin with, up to stages.
std::vector<ResolvedArgument> head_of(const Task& task, const Workload& workload) {
  std::vector<ResolvedArgument> head;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].role != Role::out) head.push_back({Kind::tensor, static_cast<int>(i), {}});
  }
  for (const Scalar& scalar : task.scalars) head.push_back(word(scalar.value));
  for (const Axis& axis : task.axes) {
    const auto size = workload.sizes.find(axis.name);
    head.push_back(word(size == workload.sizes.end() ? std::int64_t{1} : size->second));
  }
  return head;
}

ResolvedLaunch launch_of(const std::string& entry, std::int64_t count,
                         std::vector<ResolvedArgument> args) {
  ResolvedLaunch launch;
  launch.name = launch.entry = entry;
  launch.grid = {std::max<std::int64_t>(1, (count + threads - 1) / threads), 1, 1};
  launch.block = {static_cast<int>(threads), 1, 1};
  launch.args = std::move(args);
  return launch;
}

}  // namespace

Result<ResolvedPlan> plain_plan(const Task& task, const Workload& workload,
                                const ReferenceProgram& program, ReferenceBuild build) {
  const auto head = head_of(task, workload);
  ResolvedPlan plan;
  for (const ReferenceEntry& entry : program.entries) {
    std::size_t output = 0;
    while (task.tensors[output].name != entry.tensor) ++output;
    const auto shape = shape_of(task, task.tensors[output], workload);
    if (!shape) return shape.error();
    auto stages = stage_plan(task, program, build, workload, entry.tensor, shape->elements);
    if (!stages) return stages.error();
    const int first = static_cast<int>(plan.buffers.size());
    const auto placed = [&](int buffer) { return buffer_at(buffer < 0 ? -1 : first + buffer); };
    for (const std::int64_t bytes : stages->buffers)
      plan.buffers.push_back({fmt::format("stage_{}", plan.buffers.size()), bytes});
    std::vector<ResolvedArgument> all = head;
    for (const int buffer : stages->stored) all.push_back(placed(buffer));
    for (const StageLaunch& stage : stages->launches) {
      auto args = all;
      args.push_back(placed(stage.from));
      args.push_back(placed(stage.out));
      for (const std::int64_t number : {stage.span, stage.parts, stage.from_parts, stage.count})
        args.push_back(word(number));
      plan.launches.push_back(launch_of(stage.entry, stage.count, std::move(args)));
    }
    all.push_back({Kind::tensor, static_cast<int>(output), {}});
    all.push_back(word(std::int64_t{0}));
    all.push_back(word(shape->elements));
    plan.launches.push_back(launch_of(stages->entry, shape->elements, std::move(all)));
  }
  return plan;
}

}  // namespace cupilot
