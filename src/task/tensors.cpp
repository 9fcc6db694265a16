// The numbers of a task's tensors at a workload.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <cupilot/task.hpp>

#include "task/axes.hpp"
#include "task/borrowed_scope.hpp"
#include "task/content.hpp"
#include "task/prepared.hpp"

namespace cupilot {
namespace {

Error shape_error(const Task& task, const Tensor& tensor, const std::string& reason) {
  return Error{ErrorCode::usage,
               fmt::format("task '{}', tensor '{}': {}", task.name, tensor.name, reason),
               "make the sizes smaller or correct the tensor's shape"};
}

// Extents, or strides where those are given.
Result<std::vector<std::int64_t>> numbers(const Task& task, const Tensor& tensor,
                                          const std::vector<Expr>& texts, const ExprScope& scope,
                                          const char* what) {
  std::vector<std::int64_t> out;
  for (const Expr& text : texts) {
    const auto value = evaluate_or_error(text, scope);
    if (!value)
      return shape_error(task, tensor,
                         fmt::format("{} {}: {}", what, out.size() + 1, value.error().message));
    if (*value < 0)
      return shape_error(task, tensor,
                         fmt::format("{} \"{}\" is negative, {}", what, text.text, *value));
    out.push_back(*value);
  }
  return out;
}

}  // namespace

const Tensor* find_tensor(const Task& task, std::string_view name) {
  for (const Tensor& tensor : task.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

ExprScope task_scope(const Task& task, const Workload& workload) {
  std::map<std::string, std::int64_t> names = workload.sizes;
  for (const auto& [name, value] : task.constants) names.insert_or_assign(name, value);
  for (const Tensor& tensor : task.tensors)
    names.insert_or_assign("elem." + tensor.name, size_of(tensor.type));
  return scope_of(names);
}

std::optional<std::int64_t> task_number(const Task& task, const Workload& workload,
                                        std::string_view name) {
  if (name.starts_with("elem.")) {
    for (const Tensor& tensor : task.tensors) {
      if (tensor.name == name.substr(5)) return size_of(tensor.type);
    }
  }
  for (const auto* numbers : {&task.constants, &workload.sizes}) {
    for (const auto& [known, value] : *numbers) {
      if (known == name) return value;
    }
  }
  return std::nullopt;
}

ExprScope borrowed_scope(const Task& task, const Workload& workload) {
  return [&task, &workload](std::string_view name) -> ExprValue {
    if (const auto number = task_number(task, workload, name)) return *number;
    return ExprFault{ExprFault::Kind::unknown_name, 0, fmt::format("unknown name '{}'", name)};
  };
}

Result<TensorShape> shape_of(const Task& task, const Tensor& tensor, const Workload& workload) {
  const ExprScope scope = borrowed_scope(task, workload);
  auto extents = numbers(task, tensor, tensor.shape, scope, "extent");
  if (!extents) return extents.error();
  TensorShape shape;
  shape.extents = std::move(*extents);
  shape.elements = 1;
  bool overflow = false;
  for (const std::int64_t extent : shape.extents) {
    overflow |= __builtin_mul_overflow(shape.elements, extent, &shape.elements);
  }
  const std::size_t rank = shape.extents.size();
  if (tensor.strides.empty()) {
    shape.strides.assign(rank, 1);
    for (std::size_t d = rank; d-- > 1;) {
      overflow |= __builtin_mul_overflow(shape.strides[d], shape.extents[d], &shape.strides[d - 1]);
    }
  } else {
    if (tensor.strides.size() != rank) {
      return shape_error(task, tensor,
                         fmt::format("{} strides for {} dimensions", tensor.strides.size(), rank));
    }
    auto strides = numbers(task, tensor, tensor.strides, scope, "stride");
    if (!strides) return strides.error();
    shape.strides = std::move(*strides);
  }
  std::int64_t last = 0;
  for (std::size_t d = 0; d < rank && shape.elements != 0; ++d) {
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(shape.extents[d] - 1, shape.strides[d], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  std::int64_t bytes = 0;
  overflow |= __builtin_add_overflow(last, std::int64_t{1}, &last);
  overflow |= __builtin_mul_overflow(last, std::int64_t{size_of(tensor.type)}, &bytes);
  // 2^47: what a 64-bit process can address.
  if (overflow || bytes > (std::int64_t{1} << 47))
    return shape_error(task, tensor, "more than 2^47 bytes");
  shape.span = shape.elements == 0 ? 0 : last;
  return shape;
}

namespace {

// Elements of all tensors of which `counts` says yes.
template <class Counts>
Result<std::int64_t> elements_of(const Task& task, const Workload& workload, Counts counts) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : task.tensors) {
    if (!counts(tensor)) continue;
    const auto shape = shape_of(task, tensor, workload);
    if (!shape) return shape.error();
    sum += shape->elements;
  }
  return sum;
}

// Expects the number of `all` places that so many draws meet.
double met_by(double draws, double all) { return all * -std::expm1(-draws / all); }

// Elements that say all that a tensor of a declared structure holds.
std::int64_t told_elements(const TensorShape& shape, Structure structure) {
  const std::size_t rank = shape.extents.size();
  if (structure == Structure::dense || rank < 2 || shape.elements == 0) return shape.elements;
  const std::int64_t rows = shape.extents[rank - 2], columns = shape.extents[rank - 1];
  const std::int64_t side = std::min(rows, columns), square = side * (side + 1) / 2;
  const std::int64_t matrices = shape.elements / (rows * columns);
  switch (structure) {
    case Structure::diagonal:
      return matrices * side;
    case Structure::upper:
      return matrices * (square + side * (columns - side));
    case Structure::lower:
      return matrices * (square + side * (rows - side));
    default:
      return matrices * square;
  }
}

// The elements of an input that must be read. Along a free axis that no output has it is looked up:
// by labels, which meet some places of the axis, by a file's indices, which may all name one, or
// else by what the outputs hold.
Result<std::int64_t> elements_read(const Task& task, const Workload& workload, const Tensor& tensor,
                                   const TensorShape& shape) {
  if (tensor.role != Role::in) return shape.elements;
  std::int64_t read = told_elements(shape, tensor.fill.structure);
  const auto made =
      elements_of(task, workload, [](const Tensor& other) { return other.role != Role::in; });
  if (!made) return made.error();
  // Not more than trees of so many operations have leaves, where a task counts one at least for
  // each result.
  const auto operations = textbook_flops(task, workload);
  if (operations && *operations >= *made)
    read = std::min(read, std::min(*operations, shape.elements) + *made);
  for (std::size_t d = 0; d < tensor.shape.size() && read > 0; ++d) {
    const std::string& axis = tensor.shape[d].text;
    if (!is_looked_up(task, axis)) continue;
    const auto labels = elements_of(task, workload, [&](const Tensor& other) {
      return other.fill.kind == FillKind::labels && other.fill.below.text == axis;
    });
    const bool indices =
        std::any_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& other) {
          return other.fill.kind == FillKind::file && is_counted(other) &&
                 other.fill.below.text == axis;
        });
    const auto written =
        elements_of(task, workload, [](const Tensor& other) { return other.role != Role::in; });
    if (!labels) return labels.error();
    if (!written) return written.error();
    const auto all = static_cast<double>(shape.extents[d]);
    const double places = *labels > 0 ? met_by(static_cast<double>(*labels), all)
                          : indices   ? std::min(all, 1.0)
                                      : all;
    read = std::min(
        {read, *written, static_cast<std::int64_t>(places) * (shape.elements / shape.extents[d])});
  }
  return read;
}

// Constant tensors that prepared operations alone read. What these make may be smaller.
std::set<std::string> read_before(const Task& task) {
  std::set<std::string> before;
  if (task.operations.empty()) return before;
  const std::vector<bool> prepared = prepared_operations(task);
  for (const bool early : {true, false}) {
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      if (prepared[i] != early) continue;
      for (const std::string& name : task.operations[i].inputs) {
        const Tensor* tensor = find_tensor(task, name);
        if (tensor == nullptr) continue;
        if (early)
          before.insert(name);
        else
          before.erase(name);
      }
    }
  }
  return before;
}

}  // namespace

Result<std::int64_t> compulsory_bytes(const Task& task, const Workload& workload) {
  std::int64_t bytes = 0;
  const std::set<std::string> before = read_before(task);
  for (const Tensor& tensor : task.tensors) {
    if (before.contains(tensor.name)) continue;
    const auto shape = shape_of(task, tensor, workload);
    if (!shape) return shape.error();
    const auto read = elements_read(task, workload, tensor, *shape);
    if (!read) return read.error();
    const std::int64_t times = tensor.role == Role::in_out ? 2 : 1;
    bytes += *read * size_of(tensor.type) * times;
  }
  return bytes;
}

Result<std::int64_t> textbook_flops(const Task& task, const Workload& workload) {
  auto flops = evaluate_or_error(task.work.flops, borrowed_scope(task, workload));
  if (!flops)
    return std::move(flops.error()).while_doing(fmt::format("task '{}', work.flops", task.name));
  return *flops;
}

}  // namespace cupilot
