// Tasks that are graphs of operators, for tests.
#pragma once

#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot::support {

inline Tensor input(const std::string& name, std::vector<Expr> shape, DType type = DType::f32) {
  return {.name = name, .type = type, .shape = std::move(shape)};
}
inline Tensor output(const std::string& name, std::vector<Expr> shape, DType type = DType::f32) {
  return {.name = name, .role = Role::out, .type = type, .shape = std::move(shape)};
}

// A completed task over axes that are named as in `sizes`; cols is reduced.
inline Result<Task> graph_task(std::vector<Tensor> tensors, std::vector<Operation> operations,
                               Sizes sizes, Precision precision = Precision::fp32_strict) {
  Task task;
  task.name = task.family = "graph";
  for (const auto& [name, size] : sizes)
    task.axes.push_back({name, name == "cols" ? AxisKind::reduced : AxisKind::free});
  task.tensors = std::move(tensors);
  task.operations = std::move(operations);
  task.precision = precision;
  task.time_shapes = {{.sizes = std::move(sizes)}};
  if (auto done = complete(task); !done) return done.error();
  if (auto valid = validate(task); !valid) return valid.error();
  return task;
}

}  // namespace cupilot::support
