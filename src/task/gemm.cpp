#include <cupilot/parts/gemm.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/embedded.hpp"
#include "task/gemm_tables.hpp"

namespace cupilot {

namespace {

Error usage(std::string message, std::string hint) {
  return Error{ErrorCode::usage, std::move(message), std::move(hint)};
}

Result<void> check_sizes(const GemmSpec& spec) {
  for (const auto& [name, size] :
       {std::pair{"m", spec.m}, {"n", spec.n}, {"k", spec.k}, {"batch", spec.batch}}) {
    if (size < 1)
      return usage(fmt::format("gemm: {}={} is below 1", name, size),
                   "sizes are whole numbers from 1");
  }
  return {};
}

Result<Precision> class_of(const GemmSpec& spec) {
  const bool blocks = spec.scale == Scaling::block && size_of(spec.dtype) == 1;
  const Precision precision =
      spec.precision.value_or(blocks ? Precision::fp8_promoted : strict_class(spec.dtype));
  std::string offered;
  for (const GemmClass& row : gemm_classes) {
    if (row.type != spec.dtype) continue;
    if (row.precision == precision) return precision;
    offered += (offered.empty() ? "" : ", ") + std::string(name_of(row.precision));
  }
  return usage(fmt::format("gemm: precision={} cannot be had with dtype={}", name_of(precision),
                           name_of(spec.dtype)),
               fmt::format("dtype={} offers {}", name_of(spec.dtype), offered));
}

Result<void> check_names(const GemmSpec& spec) {
  const auto check_type = [](const char* name, DType type,
                             std::span<const DType> types) -> Result<void> {
    if (std::find(types.begin(), types.end(), type) != types.end()) return {};
    return usage(fmt::format("gemm: {}={} is not a type gemm takes", name, name_of(type)),
                 fmt::format("gemm takes {}", gemm_type_names(types)));
  };
  if (auto operands = check_type("dtype", spec.dtype, gemm_types); !operands) return operands;
  if (auto out = check_type("out", spec.out.value_or(gemm_out(spec.dtype)), gemm_out_types); !out)
    return out;
  if (std::find(gemm_layouts.begin(), gemm_layouts.end(), spec.layout) == gemm_layouts.end()) {
    return usage(fmt::format("gemm: layout={} is unknown", spec.layout),
                 "layout is one of nn, nt, tn, tt");
  }
  if (spec.scale != Scaling::none && size_of(spec.dtype) != 1) {
    return usage(
        fmt::format("gemm: scale={} is of 8-bit operands, dtype is {}",
                    scaling_names[static_cast<std::size_t>(spec.scale)], name_of(spec.dtype)),
        "leave scale out, or take dtype=e4m3 or e5m2");
  }
  for (const auto& [name, value] : {std::pair{"alpha", spec.alpha}, {"beta", spec.beta}}) {
    if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) {
      return usage(fmt::format("gemm: {}={} does not fit fp32", name, value),
                   "alpha and beta are passed as fp32");
    }
  }
  return {};
}

// Factors as quantisers leave them: positive, within a power of two or so of each other.
void add_scales(const GemmSpec& spec, std::vector<Tensor>& tensors) {
  if (spec.scale == Scaling::none) return;
  const bool blocks = spec.scale == Scaling::block;
  const auto factor = [&](const char* name, std::vector<Expr> shape) {
    tensors.push_back({.name = name,
                       .role = Role::in,
                       .type = DType::f32,
                       .shape = blocks ? std::move(shape) : std::vector<Expr>{"1"},
                       .fill = {.kind = FillKind::uniform, .low = 0.5, .high = 2.0}});
  };
  factor("scale_a", {"batch", "cdiv(k, 128)", "m"});
  factor("scale_b", {"batch", "cdiv(n, 128)", "cdiv(k, 128)"});
}

std::vector<Tensor> tensors_of(const GemmSpec& spec) {
  const DType out = spec.out.value_or(gemm_out(spec.dtype));
  const bool trans_a = spec.layout[0] == 't';
  const bool trans_b = spec.layout[1] == 't';
  const auto operand = [&](const char* name, bool transposed, const char* rows,
                           const char* columns) {
    Tensor tensor{
        .name = name, .role = Role::in, .type = spec.dtype, .shape = {"batch", rows, columns}};
    if (transposed) std::swap(tensor.shape[1], tensor.shape[2]);
    return tensor;
  };
  std::vector<Tensor> tensors = {operand("A", trans_a, "m", "k"), operand("B", trans_b, "k", "n")};
  // Sums of deviation 1: where the activation is flat nearly every output would be one of two
  // values.
  const bool saturates = spec.act == Activation::tanh || spec.act == Activation::sigmoid;
  if (saturates)
    tensors[1].fill.high = 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(spec.k, 1)));
  if (spec.beta != 0.0)
    tensors.push_back({.name = "C", .role = Role::in, .type = out, .shape = {"batch", "m", "n"}});
  if (spec.bias) tensors.push_back({.name = "bias", .role = Role::in, .type = out, .shape = {"n"}});
  add_scales(spec, tensors);
  tensors.push_back({.name = "D",
                     .role = Role::out,
                     .type = out,
                     .shape = {"batch", "m", "n"},
                     .check = {.kind = CheckKind::within, .length = "k"}});
  return tensors;
}

Constants constants_of(const GemmSpec& spec) {
  Constants constants = {{"TRANS_A", spec.layout[0] == 't'},
                         {"TRANS_B", spec.layout[1] == 't'},
                         {"BATCHED", spec.batch != 1},
                         {"HAS_C", spec.beta != 0.0},
                         {"HAS_BIAS", spec.bias},
                         {"HAS_ALPHA", spec.alpha != 1.0},
                         {"ACT", static_cast<int>(spec.act)}};
  if (spec.scale != Scaling::none) constants["SCALE"] = static_cast<int>(spec.scale);
  return constants;
}

// Corners that need no tile to be named: a single element, one row, one column, primes.
std::vector<Workload> check_shapes_of(const GemmSpec& spec) {
  const std::int64_t batch = spec.batch == 1 ? 1 : 3;
  std::vector<Workload> shapes;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {1, 67, 37}, {71, 1, 40}, {53, 61, 29}}) {
    shapes.push_back({.sizes = {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}});
  }
  return shapes;
}

Task assemble(const GemmSpec& spec, Precision precision) {
  Task task;
  const bool scaled = spec.scale != Scaling::none;
  // A family of its own: a kernel that knows no scales must not be offered.
  task.name = "gemm";
  task.family = scaled ? "scaled_gemm" : "gemm";
  task.axes = {{"batch", AxisKind::free},
               {"m", AxisKind::free},
               {"n", AxisKind::free},
               {"k", AxisKind::reduced}};
  task.tensors = tensors_of(spec);
  // Kernels get fp32: the reference must see the same number.
  task.scalars = {{"alpha", DType::f32, static_cast<double>(static_cast<float>(spec.alpha))},
                  {"beta", DType::f32, static_cast<double>(static_cast<float>(spec.beta))}};
  Operation operation{.name = "gemm", .kind = "gemm", .outputs = {"D"}};
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role == Role::in) operation.inputs.push_back(tensor.name);
  }
  task.operations = {operation};
  task.constants = constants_of(spec);
  task.precision = precision;
  task.time_shapes = {
      {.sizes = {{"batch", spec.batch}, {"m", spec.m}, {"n", spec.n}, {"k", spec.k}}}};
  task.check_shapes = check_shapes_of(spec);
  task.work = {.flops = "2*batch*m*n*k", .matmul_like = "D is a sum of products of two matrices"};
  const std::string reference = fmt::format("reference/{}.cu", task.family);
  task.reference = {std::string(find_embedded(reference_files(), reference.c_str())),
                    "kernels/" + reference};
  return task;
}

}  // namespace

Result<Task> gemm_task(const GemmSpec& spec) {
  if (auto sizes = check_sizes(spec); !sizes) return sizes.error();
  if (auto names = check_names(spec); !names) return names.error();
  const auto precision = class_of(spec);
  if (!precision) return precision.error();
  Task task = assemble(spec, *precision);
  if (auto valid = validate(task); !valid) return valid.error();
  return task;
}

}  // namespace cupilot
