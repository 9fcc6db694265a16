#include "backend/cuda/library_graph.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <cupilot/family.hpp>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "backend/cuda/library.hpp"
#include "kernel/library_step.hpp"
#include "program/library_convolution.hpp"
#include "program/library_part.hpp"
#include "program/part_task.hpp"

namespace cupilot {
namespace {

Rejected no_baseline(const std::string& why) { return reject("measure.failed", why); }

const Families& known_families() {
  static const Families all = builtin_families();
  return all;
}

// The product at a workload of the graph.
Result<Workload> workload_of(const PartTask& form, const Task& task, const Workload& workload) {
  Workload made{.sizes = {}, .weight = workload.weight};
  for (const auto& [axis, extent] : form.axes) {
    const auto size = evaluate_or_error(extent, task_scope(task, workload));
    if (!size) return size.error();
    made.sizes[axis] = *size;
  }
  return made;
}

// The step of a task that is a convolution.
Attempt<StepOrder> convolution_order(const Task& task, const Workload& workload,
                                     const DeviceSpec& device, const TaskPlacement& placement) {
  const auto source = library_part(task, known_families());
  if (!source) return source.failure();
  const auto resolution = resolve(*source, task, workload, device, nullptr);
  if (!resolution) return resolution.failure();
  const auto* plan = std::get_if<ResolvedPlan>(&*resolution);
  const auto step = plan == nullptr ? std::nullopt : library_step(plan->launches.front());
  if (!step) return no_baseline("cuDNN computes no convolution of this shape");
  return step_order(*step, placement, {});
}

}  // namespace

Attempt<StepOrder> baseline_order(std::span<const LibraryCall> calls, const Task& task,
                                  const Workload& workload, const DeviceSpec& device,
                                  const TaskPlacement& placement) {
  const LibraryCall* call = find_library_call(calls, task);
  if (call == nullptr && !task.operations.empty() && is_convolution(task.operations.front()))
    return convolution_order(task, workload, device, placement);
  auto product = call != nullptr ? library_order(call, task, workload, placement.tensors)
                                 : graph_library_order(calls, task, workload, placement.tensors);
  if (!product) return product.failure();
  return StepOrder{.product = std::move(*product)};
}

Attempt<LibraryOrder> graph_library_order(std::span<const LibraryCall> calls, const Task& task,
                                          const Workload& workload,
                                          const std::vector<Region>& tensors) {
  const auto outputs = std::count_if(
      task.tensors.begin(), task.tensors.end(),
      [](const Tensor& tensor) { return tensor.role == Role::out || tensor.role == Role::in_out; });
  if (task.operations.empty() || task.operations.front().outputs.size() != 1 || outputs != 1)
    return no_baseline("cuBLASLt has no call for family '" + task.family + "'");
  const auto form = stated_part(task, 0, known_families());
  const LibraryCall* call = form ? find_library_call(calls, form->task) : nullptr;
  if (call == nullptr)
    return no_baseline(fmt::format("cuBLASLt has no call for a graph that begins with {}",
                                   task.operations.front().kind));
  const auto epilogue = library_epilogue(task);
  if (!epilogue) return epilogue.failure();
  const auto region_of = [&](const std::string& name) -> std::optional<Region> {
    for (std::size_t i = 0; i < task.tensors.size(); ++i) {
      if (task.tensors[i].name == name) return tensors.at(i);
    }
    return std::nullopt;
  };
  const std::string& product = task.operations.front().outputs.front();
  std::vector<Region> regions;
  for (const Tensor& own : form->task.tensors) {
    const std::string& name = form->tensors.at(own.name);
    const auto region = region_of(name == product ? epilogue->output : name);
    if (!region) return no_baseline("an operand of the product is no tensor of the task");
    regions.push_back(*region);
  }
  const auto at = workload_of(*form, task, workload);
  if (!at) return at.error();
  auto order = library_order(call, form->task, *at, regions);
  if (!order) return order;
  const Tensor& output = *find_tensor(task, epilogue->output);
  if (!output.strides.empty()) return no_baseline("a tensor has strides of its own");
  order->type_c = order->type_d = static_cast<int>(output.type);
  order->epilogue = static_cast<int>(epilogue->kind);
  if (!epilogue->bias.empty()) {
    if (find_tensor(task, epilogue->bias)->type != output.type)
      return no_baseline("cuBLASLt takes a bias of the output's type");
    order->bias = *region_of(epilogue->bias);
  }
  return order;
}

}  // namespace cupilot
