#include "backend/cuda/library_graph.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <cupilot/family.hpp>
#include <cupilot/parts/rejection.hpp>

#include "backend/cuda/library.hpp"
#include "program/part_task.hpp"

namespace cupilot {
namespace {

Rejected no_baseline(const std::string& why) { return reject("measure.failed", why); }

const Families& known_families() {
  static const Families all = builtin_families();
  return all;
}

// The operations behind the product, as the library's epilogue.
struct Epilogue {
  std::string bias{};  // a tensor; "": none
  LibraryOrder::Epilogue kind = LibraryOrder::plain;
  std::string output{};  // of the last operation
};

// Reads the operations behind the first, each of which must take the result of the one before.
class EpilogueReader {
 public:
  explicit EpilogueReader(const Task& task) : task_(task) {}

  Attempt<Epilogue> run() {
    found_.output = task_.operations.front().outputs.front();
    for (std::size_t i = 1; i < task_.operations.size(); ++i) {
      const Operation& operation = task_.operations[i];
      if (find_tensor(task_, found_.output) != nullptr || operation.outputs.size() != 1)
        return no_baseline("an intermediate result is an output too");
      if (!add(operation))
        return no_baseline(fmt::format("cuBLASLt has no epilogue equal to operation {} ({})",
                                       operation.name, operation.kind));
      found_.output = operation.outputs.front();
    }
    return found_;
  }

 private:
  bool add(const Operation& operation) {
    if (found_.kind != LibraryOrder::plain) return false;
    if (operation.kind == "add") return add_bias(operation);
    if (operation.inputs != std::vector{found_.output}) return false;
    if (operation.kind == "relu") found_.kind = LibraryOrder::relu;
    const auto way = operation.attributes.find("approximate");
    // The library's gelu is the one by tanh.
    if (operation.kind == "gelu" && way != operation.attributes.end() &&
        way->second == Attribute(std::string("tanh")))
      found_.kind = LibraryOrder::gelu;
    return found_.kind != LibraryOrder::plain;
  }

  // A vector along the last dimension of the product.
  bool add_bias(const Operation& operation) {
    const bool has_bias = !found_.bias.empty() || task_.operations.front().inputs.size() > 2;
    if (has_bias || operation.inputs.size() != 2 || !operation.attributes.empty()) return false;
    const bool first = operation.inputs.front() == found_.output;
    if (!first && operation.inputs.back() != found_.output) return false;
    const Tensor* bias = find_tensor(task_, operation.inputs[first ? 1 : 0]);
    const Edge* product = find_edge(task_, found_.output);
    if (bias == nullptr || product == nullptr || bias->role == Role::out ||
        !bias->strides.empty() || bias->shape.size() != 1 || product->shape.empty() ||
        bias->shape.back() != product->shape.back())
      return false;
    found_.bias = bias->name;
    return true;
  }

  const Task& task_;
  Epilogue found_;
};

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

}  // namespace

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
  const auto epilogue = EpilogueReader(task).run();
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
  order->epilogue = epilogue->kind;
  if (!epilogue->bias.empty()) {
    if (find_tensor(task, epilogue->bias)->type != output.type)
      return no_baseline("cuBLASLt takes a bias of the output's type");
    order->bias = *region_of(epilogue->bias);
  }
  return order;
}

}  // namespace cupilot
