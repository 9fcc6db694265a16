#include "task/axes.hpp"

#include <algorithm>

#include "task/expr_parse.hpp"

namespace cupilot {

bool names_axis(const Expr& extent, const std::string& axis) {
  if (extent.text == axis) return true;
  if (extent.text.find(axis) == std::string::npos) return false;
  const auto parsed = parse_expr(extent.text);
  const auto* tree = std::get_if<ExprTree>(&parsed);
  if (tree == nullptr) return false;
  return std::any_of(tree->nodes.begin(), tree->nodes.end(), [&](const ExprNode& node) {
    return node.op == ExprOp::name && node.name == axis;
  });
}

bool is_looked_up(const Task& task, const std::string& axis) {
  const bool is_free = std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& one) {
    return one.kind == AxisKind::free && one.name == axis;
  });
  const auto has_axis = [&](const Tensor& tensor) {
    return (tensor.role == Role::out || tensor.role == Role::in_out) &&
           std::any_of(tensor.shape.begin(), tensor.shape.end(),
                       [&](const Expr& extent) { return names_axis(extent, axis); });
  };
  return is_free && std::none_of(task.tensors.begin(), task.tensors.end(), has_axis);
}

}  // namespace cupilot
