#include "backend/cuda/library.hpp"

#include <cupilot/backend.hpp>
#include <cupilot/parts/gemm.hpp>
#include <cupilot/parts/rejection.hpp>

namespace cupilot {
namespace {

std::int64_t constant(const Task& task, const char* name) {
  const auto found = task.constants.find(name);
  return found != task.constants.end() ? found->second : 0;
}

std::int64_t extent(const Workload& workload, const char* axis) {
  const auto found = workload.sizes.find(axis);
  return found != workload.sizes.end() ? found->second : 1;
}

double scalar(const Task& task, const char* name, double otherwise) {
  for (const Scalar& entry : task.scalars) {
    if (entry.name == name) return entry.value;
  }
  return otherwise;
}

// Region and type of a tensor, slot -1 when the task has none.
struct Operand {
  Region region;
  DType type = DType::f32;
};
Operand operand(const Task& task, const std::vector<Region>& tensors, const char* name) {
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].name == name) return {tensors.at(i), task.tensors[i].type};
  }
  return {};
}

Rejected without(const std::string& why) {
  return reject("measure.failed", "no library baseline: " + why);
}

// Whole factors are numbers the library reads from memory; blocks are laid out as it wants them,
// but for the padding of B's.
std::optional<Rejected> add_scales(const Task& task, const Workload& workload,
                                   const std::vector<Region>& tensors, LibraryOrder& order) {
  order.scale = static_cast<int>(constant(task, "SCALE"));
  if (order.scale == 0) return std::nullopt;
  // Column-major, the library's A is our B.
  order.scale_a = operand(task, tensors, "scale_b").region;
  order.scale_b = operand(task, tensors, "scale_a").region;
  if (static_cast<Scaling>(order.scale) == Scaling::tensor) return std::nullopt;
  if ((extent(workload, "k") + 127) / 128 % 4 != 0)
    return without("cuBLASLt wants block scales of B padded to four along k");
  if (order.batch != 1) return without("cuBLASLt takes no batches with block scales");
  return std::nullopt;
}

}  // namespace

std::string library_name(const Task& task) {
  switch (task.precision) {
    case Precision::fp32_emulated:
    case Precision::bf16x3:
      return "cublaslt fp32";
    case Precision::fp8:
      return "cublaslt fast accumulation";
    case Precision::fp8_promoted:
      return "cublaslt full accumulation";
    default:
      return "cublaslt";
  }
}

Attempt<LibraryOrder> library_order(const Task& task, const Workload& workload,
                                    const std::vector<Region>& tensors) {
  if (task.family != "gemm" && task.family != "scaled_gemm")
    return without("cuBLASLt is asked for matrix products only");
  const auto act = static_cast<Activation>(constant(task, "ACT"));
  if (act != Activation::none && act != Activation::relu)
    return without("cuBLASLt has no epilogue equal to this activation");
  for (const Tensor& tensor : task.tensors) {
    if (!tensor.strides.empty()) return without("a tensor has strides of its own");
  }
  const Operand a = operand(task, tensors, "A"), b = operand(task, tensors, "B"),
                d = operand(task, tensors, "D");
  const Operand c = operand(task, tensors, "C"), bias = operand(task, tensors, "bias");
  const std::int64_t m = extent(workload, "m"), n = extent(workload, "n"),
                     k = extent(workload, "k");
  const bool trans_a = constant(task, "TRANS_A") != 0, trans_b = constant(task, "TRANS_B") != 0;
  LibraryOrder order;
  order.type_a = static_cast<int>(b.type);
  order.type_b = static_cast<int>(a.type);
  order.type_c = order.type_d = static_cast<int>(d.type);
  order.compute = task.precision == Precision::tf32  ? LibraryOrder::tf32
                  : task.precision == Precision::fp8 ? LibraryOrder::fast
                                                     : LibraryOrder::full;
  order.trans_a = trans_b;
  order.trans_b = trans_a;
  order.relu = act == Activation::relu;
  order.rows = n;
  order.columns = m;
  order.depth = k;
  order.batch = extent(workload, "batch");
  order.ld_a = trans_b ? k : n;
  order.ld_b = trans_a ? m : k;
  order.ld_d = n;
  order.stride_a = n * k;
  order.stride_b = m * k;
  order.stride_d = m * n;
  order.alpha = scalar(task, "alpha", 1);
  order.beta = scalar(task, "beta", 0);
  order.a = b.region;
  order.b = a.region;
  order.c = c.region;
  order.d = d.region;
  order.bias = bias.region;
  if (auto refused = add_scales(task, workload, tensors, order)) return *refused;
  return order;
}

}  // namespace cupilot
