#include "backend/cuda/library.hpp"

#include <algorithm>

#include <cupilot/backend.hpp>
#include <cupilot/parts/rejection.hpp>

#include "kernel/library_step.hpp"
#include "program/library_convolution.hpp"

namespace cupilot {
namespace {

double scalar(const Task& task, const std::string& name, double otherwise) {
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
Operand operand(const Task& task, const std::vector<Region>& tensors, const std::string& name) {
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].name == name) return {tensors.at(i), task.tensors[i].type};
  }
  return {};
}

Rejected without(const std::string& why) { return reject("measure.failed", why); }

// The task's own names; a constant that it lacks is 0.
ExprScope call_scope(const Task& task, const Workload& workload) {
  return [scope = task_scope(task, workload)](std::string_view name) -> ExprValue {
    ExprValue value = scope(name);
    const auto* fault = std::get_if<ExprFault>(&value);
    if (fault != nullptr && fault->kind == ExprFault::Kind::unknown_name) return std::int64_t{0};
    return value;
  };
}

// Values of a call's expressions. The first that has none says so in `fault`.
class CallValues {
 public:
  CallValues(const Task& task, const Workload& workload) : scope_(call_scope(task, workload)) {}
  std::int64_t of(const Expr& expr) {
    const auto value = evaluate_or_error(expr, scope_);
    if (!value && !fault_) fault_ = value.error();
    return value ? *value : 0;
  }
  const std::optional<Error>& fault() const { return fault_; }

 private:
  ExprScope scope_;
  std::optional<Error> fault_;
};

// Whole factors are numbers the library reads from memory; blocks are laid out as it wants them,
// but for the padding of B's.
std::optional<Rejected> add_scales(const LibraryCall& call, const Task& task,
                                   const std::vector<Region>& tensors, LibraryOrder& order) {
  if (order.scale == LibraryOrder::unscaled) return std::nullopt;
  // Column-major, the library's A is our B.
  order.scale_a = operand(task, tensors, call.scale_b).region;
  order.scale_b = operand(task, tensors, call.scale_a).region;
  if (order.scale == LibraryOrder::scaled_whole) return std::nullopt;
  if ((order.depth + 127) / 128 % 4 != 0)
    return without("cuBLASLt wants block scales of B padded to four along k");
  if (order.batch != 1) return without("cuBLASLt takes no batches with block scales");
  return std::nullopt;
}

std::optional<Rejected> refusal(const LibraryCall& call, const Task& task, CallValues& values) {
  for (const LibraryCall::Refusal& row : call.refuse) {
    if (values.of(row.when) != 0) return without(row.reason);
  }
  for (const Tensor& tensor : task.tensors) {
    if (!tensor.strides.empty()) return without("a tensor has strides of its own");
  }
  return std::nullopt;
}

void add_sizes(const LibraryCall& call, CallValues& values, LibraryOrder& order) {
  const std::int64_t m = values.of(call.m), n = values.of(call.n), k = values.of(call.k);
  const bool trans_a = values.of(call.trans_a) != 0, trans_b = values.of(call.trans_b) != 0;
  order.trans_a = trans_b;
  order.trans_b = trans_a;
  order.epilogue = values.of(call.relu) != 0 ? LibraryOrder::relu : LibraryOrder::plain;
  order.scale = static_cast<int>(values.of(call.scale));
  order.rows = n;
  order.columns = m;
  order.depth = k;
  order.batch = values.of(call.batch);
  order.ld_a = trans_b ? k : n;
  order.ld_b = trans_a ? m : k;
  order.ld_d = n;
  order.stride_a = n * k;
  order.stride_b = m * k;
  order.stride_d = m * n;
}

}  // namespace

std::string library_name(const Task& task) {
  if (!task.operations.empty() && is_convolution(task.operations.front()))
    return std::string(cudnn_library);
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

const LibraryCall* find_library_call(std::span<const LibraryCall> calls, const Task& task) {
  for (const LibraryCall& call : calls) {
    const auto& families = call.families;
    if (std::find(families.begin(), families.end(), task.family) != families.end()) return &call;
  }
  return nullptr;
}

Attempt<LibraryOrder> library_order(const LibraryCall* call, const Task& task,
                                    const Workload& workload, const std::vector<Region>& tensors) {
  if (call == nullptr) return without("cuBLASLt has no call for family '" + task.family + "'");
  CallValues values(task, workload);
  if (auto refused = refusal(*call, task, values)) return *refused;
  LibraryOrder order;
  add_sizes(*call, values, order);
  if (values.fault()) return without(values.fault()->message);
  const Operand a = operand(task, tensors, call->a), b = operand(task, tensors, call->b),
                d = operand(task, tensors, call->d);
  order.type_a = static_cast<int>(b.type);
  order.type_b = static_cast<int>(a.type);
  order.type_c = order.type_d = static_cast<int>(d.type);
  order.compute = task.precision == Precision::tf32  ? LibraryOrder::tf32
                  : task.precision == Precision::fp8 ? LibraryOrder::fast
                                                     : LibraryOrder::full;
  order.alpha = scalar(task, call->alpha, 1);
  order.beta = scalar(task, call->beta, 0);
  order.a = b.region;
  order.b = a.region;
  order.c = operand(task, tensors, call->c).region;
  order.d = d.region;
  order.bias = operand(task, tensors, call->bias).region;
  if (order.a.slot < 0 || order.b.slot < 0 || order.d.slot < 0)
    return without("the task lacks an operand that its family's call names");
  if (auto refused = add_scales(*call, task, tensors, order)) return *refused;
  return order;
}

}  // namespace cupilot
