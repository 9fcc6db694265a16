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

inline Operation op(const char* name, const char* kind, std::vector<std::string> in,
                    const char* out) {
  return {name, kind, std::move(in), {out}, {}};
}
inline Operation cat(const char* name, std::vector<std::string> in, const char* out,
                     std::int64_t dim) {
  return {name, "cat", std::move(in), {out}, {{"dim", dim}}};
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

// `layers` of linear and layer_norm over rows, one after another, from x to y. `exposed`: what is
// between two layers is an output too. `width`: of each layer, a number that is no axis or "cols".
inline Result<Task> deep_task(int layers, std::int64_t rows, std::int64_t cols,
                              bool exposed = false, const Expr& width = "cols") {
  std::vector<Tensor> tensors = {input("x", {"rows", width})};
  std::vector<Operation> operations;
  std::string from = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string at = std::to_string(i), to = i + 1 < layers ? "z" + at : "y";
    tensors.push_back(input("w" + at, {width, width}));
    if (exposed || i + 1 == layers) tensors.push_back(output(to, {"rows", width}));
    operations.push_back({"linear_" + at, "linear", {from, "w" + at}, {"a" + at}});
    operations.push_back({"norm_" + at, "layer_norm", {"a" + at}, {to}});
    from = to;
  }
  Sizes sizes = {{"rows", rows}};
  if (width == Expr("cols")) sizes["cols"] = cols;
  return graph_task(tensors, operations, std::move(sizes));
}

// Operators over the last dimension of rows, which scans stand among.
namespace rows {

using Integers = std::vector<std::int64_t>;
inline constexpr std::int64_t last = -1;

inline Operation flip(const char* from, const char* to) {
  return {std::string("flip_") + to, "flip", {from}, {to}, {{"dims", Integers{last}}}};
}
inline Operation cumsum(const char* from, const char* to) {
  return {std::string("scan_") + to, "cumsum", {from}, {to}, {{"dim", last}}};
}
inline Operation cut(const char* from, const char* to, const char* side, std::int64_t at) {
  return {std::string("cut_") + to, "slice", {from}, {to}, {{"dim", last}, {side, at}}};
}

}  // namespace rows

}  // namespace cupilot::support
