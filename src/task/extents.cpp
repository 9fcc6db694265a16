#include "task/extents.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "task/borrowed_scope.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {

bool has_sizes(const Task& task, const Workload& workload) {
  const bool tensors =
      std::all_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& tensor) {
        const auto shape = shape_of(task, tensor, workload);
        return shape && shape->elements > 0;
      });
  const ExprScope scope = borrowed_scope(task, workload);
  const auto is_positive = [&](const Expr& extent) {
    const ExprValue value = evaluate(extent, scope);
    const auto* size = std::get_if<std::int64_t>(&value);
    return size != nullptr && *size > 0;
  };
  const bool roomy = std::all_of(
      task.reference.stages.begin(), task.reference.stages.end(), [&](const ReferenceStage& stage) {
        return std::all_of(stage.sizes.begin(), stage.sizes.end(), [&](const StageAxis& size) {
          return !size.name.starts_with(room_prefix) || is_positive(size.extent);
        });
      });
  return tensors && roomy &&
         std::all_of(task.edges.begin(), task.edges.end(), [&](const Edge& edge) {
           return std::all_of(edge.shape.begin(), edge.shape.end(), is_positive);
         });
}

std::string element_name(const Task& task, const std::string& name, const Workload& workload,
                         std::int64_t index) {
  const Tensor* tensor = find_tensor(task, name);
  if (tensor == nullptr || index < 0) return name;
  const auto shape = shape_of(task, *tensor, workload);
  if (!shape || index >= shape->elements) return fmt::format("{}[{}]", name, index);
  std::string out;
  for (std::size_t d = shape->extents.size(); d-- > 0;) {
    out = fmt::format("[{}]", index % shape->extents[d]) + out;
    index /= shape->extents[d];
  }
  return name + out;
}

}  // namespace cupilot
