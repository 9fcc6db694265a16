#include "task/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cupilot/rng.hpp>

#include "task/expr_parse.hpp"

namespace cupilot {

namespace {

// The kernels' plain integers follow the public enumerations.
static_assert(static_cast<int>(DType::f64) == storage_f64 && static_cast<int>(DType::e5m2) == storage_e5m2 &&
              static_cast<int>(DType::i64) == storage_i64 && static_cast<int>(DType::boolean) == storage_bool);
static_assert(static_cast<int>(FillKind::normal) == fill_normal && static_cast<int>(FillKind::signs) == fill_signs &&
              static_cast<int>(FillKind::ones) == fill_ones);
static_assert(static_cast<int>(Structure::diagonal) == structure_diagonal);
static_assert(static_cast<int>(ContentKind::probe) == content_probe && static_cast<int>(ContentKind::special) == content_special);
static_assert(static_cast<int>(CheckKind::custom) == check_custom);

// Deviation of normal_raw: 2^50 * sqrt(4 / 12).
constexpr double normal_deviation = 650038614296163.5;

// What a content may hold without leaving the type's range in a few products and sums.
struct Extremes {
  double huge, swing;
};
Extremes extremes_of(DType type) {
  switch (type) {
    case DType::f16:
      return {1000.0, 64.0};
    case DType::e4m3:
      return {64.0, 4.0};
    case DType::e5m2:
      return {1024.0, 16.0};
    default:
      return {1e15, 1e4};
  }
}

bool is_reduced(const Task& task, const Expr& extent) {
  const auto parsed = parse_expr(extent.text);
  const auto* tree = std::get_if<ExprTree>(&parsed);
  if (tree == nullptr) return false;
  for (const Axis& axis : task.axes) {
    if (axis.kind != AxisKind::reduced) continue;
    for (const ExprNode& node : tree->nodes) {
      if (node.op == ExprOp::name && node.name == axis.name) return true;
    }
  }
  return false;
}

// The innermost dimension that a reduced axis spans, else the innermost.
std::size_t line_dimension(const Task& task, const Tensor& tensor) {
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    if (is_reduced(task, tensor.shape[d])) return d;
  }
  return tensor.shape.size() - 1;
}

bool is_first_float_input(const Task& task, std::size_t tensor) {
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& candidate = task.tensors[i];
    if (candidate.role != Role::out && is_float_type(static_cast<int>(candidate.type))) return i == tensor;
  }
  return false;
}

Result<std::int64_t> fill_limit(const Task& task, const Tensor& tensor, const Workload& workload) {
  if (tensor.fill.kind != FillKind::integers && tensor.fill.kind != FillKind::labels) return std::int64_t{1};
  auto below = evaluate_or_error(tensor.fill.below, task_scope(task, workload));
  if (below && *below < 1) {
    return Error{ErrorCode::usage, fmt::format("task '{}', tensor '{}': fill.below is {}", task.name, tensor.name, *below),
                 "integers and labels need an upper end of at least 1"};
  }
  return below;
}

// Roundoff of accumulations grows with sqrt(L) for IEEE additions; tensor cores truncate, which adds up linearly. Slope: units
// of 2^-24 an accumulated element (docs/formats/numerics.md derives them from facts/h200.md).
double truncation_slope(Precision precision) {
  switch (precision) {
    case Precision::fp32_emulated:
      return 1.5;
    case Precision::bf16x3:
      return 0.75;
    case Precision::tf32:
      return 0.5;
    case Precision::fp16:
    case Precision::bf16:
      return 0.25;
    case Precision::fp8:
      return 128.0;
    default:
      return 0.0;
  }
}

// How many input_roundoffs two operands of a product may lose together where the class rounds them.
double input_factor(Precision precision) {
  switch (precision) {
    case Precision::fp32_emulated:
      return 1.0;
    case Precision::bf16x3:
      return 2.0;
    default:
      return 4.0;  // two operands, each truncated: one bit worse than rounded
  }
}

bool rounds_inputs(const Task& task) {
  const double kept = input_roundoff(task.precision);
  if (task.precision == Precision::fp32_strict || task.precision == Precision::fp64) return false;
  return std::any_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& tensor) {
    const double held = unit_roundoff(tensor.type);
    return tensor.role != Role::out && held > 0.0 && held < kept;
  });
}

double underflow_of(DType type) {
  switch (type) {
    case DType::f64:
      return 0x1p-1022;
    case DType::f16:
      return 0x1p-24;
    case DType::e4m3:
      return 0x1p-9;
    case DType::e5m2:
      return 0x1p-16;
    default:
      // fp32 and bf16: a flushed denormal is 2^-126; x / (1 + exp(-x)) is zero once the exponential overflows, below 2^-121.
      return 0x1p-120;
  }
}

}  // namespace

Result<FillParams> fill_params(const Task& task, std::size_t index, const Workload& workload, const Content& content) {
  const Tensor& tensor = task.tensors.at(index);
  const auto shape = shape_of(task, tensor, workload);
  if (!shape) return shape.error();
  if (shape->extents.size() > static_cast<std::size_t>(max_rank)) {
    return Error{ErrorCode::usage,
                 fmt::format("task '{}', tensor '{}': more than {} dimensions", task.name, tensor.name, max_rank),
                 "merge dimensions"};
  }
  const auto below = fill_limit(task, tensor, workload);
  if (!below) return below.error();
  const Fill& recipe = tensor.fill;
  FillParams p{};
  p.key = Rng::of(content.seed, tensor.name).next();
  p.type = static_cast<int>(tensor.type);
  p.kind = static_cast<int>(recipe.kind);
  p.structure = static_cast<int>(recipe.structure);
  p.content = static_cast<int>(content.kind);
  p.offset = recipe.low;
  p.scale = recipe.kind == FillKind::uniform ? recipe.high - recipe.low : recipe.high / normal_deviation;
  p.below = *below;
  p.rank = static_cast<int>(shape->extents.size());
  std::copy(shape->extents.begin(), shape->extents.end(), p.extents);
  std::copy(shape->strides.begin(), shape->strides.end(), p.strides);
  p.elements = shape->elements;
  p.span = shape->span;
  p.line = p.line_stride = 1;
  if (p.rank > 0) {
    const std::size_t dimension = line_dimension(task, tensor);
    p.line = shape->extents[dimension];
    for (std::size_t d = dimension + 1; d < shape->extents.size(); ++d) p.line_stride *= shape->extents[d];
  }
  p.alternates = is_first_float_input(task, index) ? 1 : 0;
  const Extremes extremes = extremes_of(tensor.type);
  p.huge = extremes.huge;
  p.swing = extremes.swing;
  p.spot = p.elements > 0 ? static_cast<long long>(hash_of(p.key, 0, 6) % static_cast<unsigned long long>(p.elements)) : 0;
  return p;
}

Result<BoundParams> bound_params(const Task& task, std::size_t index, const Workload& workload) {
  const Tensor& tensor = task.tensors.at(index);
  const auto length = evaluate_or_error(tensor.check.length, task_scope(task, workload));
  if (!length) {
    Error error = length.error();
    return std::move(error).while_doing(fmt::format("task '{}', tensor '{}', check.length", task.name, tensor.name));
  }
  const double terms = static_cast<double>(std::max<std::int64_t>(*length, 1));
  const double accumulate = task.precision == Precision::fp64 ? 0x1p-53 : task.precision == Precision::integer ? 0.0 : 0x1p-24;
  const double granted = rounds_inputs(task) ? input_factor(task.precision) * input_roundoff(task.precision) : 0.0;
  BoundParams p{};
  p.check = static_cast<int>(tensor.check.kind);
  p.type = static_cast<int>(tensor.type);
  p.per_sum = (8.0 * std::sqrt(terms) + truncation_slope(task.precision) * terms) * accumulate + granted;
  p.per_value = unit_roundoff(tensor.type);
  p.tiny = unit_roundoff(tensor.type) == 0.0 ? 0.0 : underflow_of(tensor.type);
  p.relative = tensor.check.relative;
  p.absolute = tensor.check.absolute;
  return p;
}

void fill(const FillParams& params, std::span<std::byte> memory, std::int64_t begin, std::int64_t count) {
  for (std::int64_t i = begin; i < begin + count; ++i) {
    store_bits(memory.data(), storage_offset(params, i), params.type, fill_bits(params, i));
  }
}

void fill(const FillParams& params, std::span<std::byte> memory) { fill(params, memory, 0, params.elements); }

std::string without_includes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    if (text.substr(0, 8) != "#include") out += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string trusted_text() {
  std::string out;
  for (const char* name : {"trusted/storage.cuh", "trusted/content.cuh", "trusted/bound.cuh"}) {
    out += without_includes(find_embedded(trusted_files(), name));
  }
  return out;
}

}  // namespace cupilot
