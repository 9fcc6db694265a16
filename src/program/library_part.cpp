#include "program/library_part.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <cupilot/parts/library_call.hpp>
#include <cupilot/parts/rejection.hpp>

#include "program/library_convolution.hpp"
#include "program/library_text.hpp"
#include "program/part_task.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

Rejected no_call(const std::string& why) { return reject("measure.failed", why); }

// Reads the operations behind the first, each of which must take the result of the one before.
class EpilogueReader {
 public:
  explicit EpilogueReader(const Task& task) : task_(task) {}

  Attempt<LibraryEpilogue> run() {
    found_.output = task_.operations.front().outputs.front();
    for (std::size_t i = 1; i < task_.operations.size(); ++i) {
      const Operation& operation = task_.operations[i];
      if (find_tensor(task_, found_.output) != nullptr || operation.outputs.size() != 1)
        return no_call("an intermediate result is an output too");
      if (!add(operation))
        return no_call(fmt::format("cuBLASLt has no epilogue equal to operation {} ({})",
                                   operation.name, operation.kind));
      found_.output = operation.outputs.front();
    }
    return found_;
  }

 private:
  bool add(const Operation& operation) {
    if (found_.kind != StepEpilogue::plain) return false;
    if (operation.kind == "add") return add_bias(operation);
    if (operation.inputs != std::vector{found_.output}) return false;
    if (operation.kind == "relu") found_.kind = StepEpilogue::relu;
    const auto way = operation.attributes.find("approximate");
    // The library's gelu is the one by tanh.
    if (operation.kind == "gelu" && way != operation.attributes.end() &&
        way->second == Attribute(std::string("tanh")))
      found_.kind = StepEpilogue::gelu;
    return found_.kind != StepEpilogue::plain;
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
  LibraryEpilogue found_;
};

// The kernel that stands in for the library, an element a thread.
constexpr std::string_view product_text = R"(
// Computes what the library's step computes, where there is no library:
// d = epilogue(alpha op(a) op(b) + bias), row after row. Types and class are the library's to know.
extern "C" __global__ void library_product(const type_a* a, const type_b* b, type_d* d,
                                           const type_d* bias, float alpha, long long m, long long n,
                                           long long k, long long batch, int trans_a, int trans_b,
                                           int epilogue, int, int, int, int) {
  const long long at = blockIdx.x * 256ll + threadIdx.x;
  if (at >= m * n * batch) return;
  const long long column = at % n, row = at / n % m, matrix = at / n / m;
  a += matrix * m * k;
  b += matrix * k * n;
  float sum = 0;
  for (long long i = 0; i < k; ++i)
    sum = fmaf(to_float(a[trans_a ? i * m + row : row * k + i]),
               to_float(b[trans_b ? column * k + i : i * n + column]), sum);
  float value = alpha * sum;
  if (bias != nullptr) value += to_float(bias[column]);
  if (epilogue == 1 && value < 0) value = 0;
  if (epilogue == 2)
    value = 0.5f * value *
            (1 + tanhf(0.79788456f * (value + 0.044715f * value * value * value)));
  d[at] = FromFloat<type_d>::of(value);
}
)";

// Makes the step of one task.
class StepMaker {
 public:
  StepMaker(const Task& task, const Families& families)
      : task_(task), families_(families), calls_(library_calls_of(families)) {}

  Attempt<KernelSource> run() {
    if (auto refused = find_product()) return std::move(*refused);
    if (auto refused = read_call()) return std::move(*refused);
    KernelSource out;
    out.template_name = cublaslt_library;
    out.text = library_text({{"type_a", a_->type}, {"type_b", b_->type}, {"type_d", d_->type}},
                            product_text);
    out.plan.launches = {launch()};
    return out;
  }

 private:
  using Refused = std::optional<Rejected>;

  // A task in a family's words is the product itself, a graph begins with it.
  Refused find_product() {
    find_call(task_);
    if (call_ != nullptr) {
      product_.task = task_;
      for (const Tensor& tensor : task_.tensors) product_.tensors[tensor.name] = tensor.name;
      for (const Axis& axis : task_.axes) product_.axes[axis.name] = axis.name;
      return std::nullopt;
    }
    const auto outputs = std::count_if(
        task_.tensors.begin(), task_.tensors.end(),
        [](const Tensor& one) { return one.role == Role::out || one.role == Role::in_out; });
    if (task_.operations.empty() || outputs != 1 || !task_.repeats.empty() ||
        task_.operations.front().outputs.size() != 1)
      return no_call("it is no product with one output");
    auto form = stated_part(task_, 0, families_);
    if (form) find_call(form->task);
    if (call_ == nullptr) return no_call("it does not begin with a product");
    auto epilogue = library_epilogue(task_);
    if (!epilogue) return epilogue.rejected();
    product_ = std::move(*form);
    epilogue_ = std::move(*epilogue);
    const std::string& first = task_.operations.front().outputs.front();
    for (auto& [own, name] : product_.tensors) {
      if (name == first) name = epilogue_.output;
    }
    return std::nullopt;
  }

  void find_call(const Task& task) {
    for (const LibraryCall& one : calls_) {
      const auto& names = one.families;
      if (std::find(names.begin(), names.end(), task.family) != names.end()) call_ = &one;
    }
  }

  Refused read_call() {
    for (const Tensor& tensor : task_.tensors) {
      if (!tensor.strides.empty()) return no_call("a tensor has strides of its own");
    }
    for (const LibraryCall::Refusal& row : call_->refuse) {
      if (number(row.when) != 0) return no_call(row.reason);
    }
    if (number(call_->scale) != 0) return no_call("its operands have factors");
    if (operand(call_->c) != nullptr) return no_call("it adds a matrix");
    a_ = operand(call_->a), b_ = operand(call_->b), d_ = operand(call_->d);
    bias_ = epilogue_.bias.empty() ? operand(call_->bias) : find_tensor(task_, epilogue_.bias);
    if (a_ == nullptr || b_ == nullptr || d_ == nullptr)
      return no_call("an operand of the product is no tensor");
    if (bias_ != nullptr && bias_->type != d_->type)
      return no_call("the library takes a bias of the output's type");
    for (const Tensor* one : {a_, b_, d_}) {
      if (one->type != DType::f32 && one->type != DType::bf16 && one->type != DType::f16)
        return no_call(fmt::format("a step of {} operands is not built", name_of(one->type)));
    }
    const Precision own = task_.precision;
    const bool lower = own == Precision::fp64 || own == Precision::integer ||
                       own == Precision::fp8 || own == Precision::fp8_promoted;
    if (lower) return no_call(fmt::format("a step of class {} is not built", name_of(own)));
    return std::nullopt;
  }

  // The task's tensor that the call names, or null.
  const Tensor* operand(const std::string& name) const {
    const auto mapped = product_.tensors.find(name);
    return mapped == product_.tensors.end() ? nullptr : find_tensor(task_, mapped->second);
  }

  // A number of the product's task; a constant that it lacks is 0.
  std::int64_t number(const Expr& expr) const {
    const ExprScope inner = task_scope(product_.task, product_.task.time_shapes.front());
    const ExprScope lenient = [&](std::string_view name) -> ExprValue {
      ExprValue value = inner(name);
      const auto* fault = std::get_if<ExprFault>(&value);
      if (fault != nullptr && fault->kind == ExprFault::Kind::unknown_name) return std::int64_t{0};
      return value;
    };
    const auto value = evaluate_or_error(expr, lenient);
    return value ? *value : 0;
  }

  // An extent of the product over the sizes of the task.
  Expr extent(const Expr& expr) const {
    const ExprScope scope = task_scope(product_.task, product_.task.time_shapes.front());
    if (!evaluate_or_error(expr, scope)) return number(expr);
    return renamed(expr.text, [&](const std::string& word) -> std::optional<std::string> {
      const auto axis = product_.axes.find(word);
      return axis == product_.axes.end() ? std::nullopt
                                         : std::optional("(" + axis->second.text + ")");
    });
  }

  StepEpilogue epilogue() const {
    if (epilogue_.kind != StepEpilogue::plain) return epilogue_.kind;
    return number(call_->relu) != 0 ? StepEpilogue::relu : StepEpilogue::plain;
  }

  PlanArgument alpha() const {
    const bool given = !call_->alpha.empty() &&
                       std::any_of(task_.scalars.begin(), task_.scalars.end(),
                                   [&](const Scalar& one) { return one.name == call_->alpha; });
    if (given) return {.name = call_->alpha};
    return {.kind = PlanArgument::Kind::f32, .number = 1};
  }

  PlanLaunch launch() const {
    const Expr m = extent(call_->m), n = extent(call_->n), k = extent(call_->k),
               batch = extent(call_->batch);
    const auto wide = [](const Expr& value) {
      return PlanArgument{.kind = PlanArgument::Kind::i64, .value = value};
    };
    const auto narrow = [](auto value) {
      return PlanArgument{.kind = PlanArgument::Kind::i32,
                          .value = static_cast<std::int64_t>(value)};
    };
    const bool tf32 = task_.precision == Precision::tf32;
    PlanLaunch out{.name = "library_product", .entry = "library_product"};
    out.grid = {
        fmt::format("cdiv({} * {} * {}, {})", m.text, n.text, batch.text, stand_in_threads)};
    out.block = {stand_in_threads};
    out.args = {{.name = a_->name},
                {.name = b_->name},
                {.name = d_->name},
                {.name = bias_ == nullptr ? "no_bias?" : bias_->name},
                alpha(),
                wide(m),
                wide(n),
                wide(k),
                wide(batch),
                narrow(number(call_->trans_a) != 0),
                narrow(number(call_->trans_b) != 0),
                narrow(epilogue()),
                narrow(a_->type),
                narrow(b_->type),
                narrow(d_->type),
                narrow(tf32 ? StepCompute::tf32 : StepCompute::full)};
    out.library = cublaslt_library;
    return out;
  }

  const Task& task_;
  const Families& families_;
  std::vector<LibraryCall> calls_;
  const LibraryCall* call_ = nullptr;
  PartTask product_;  // its tensors and axes -> the task's
  LibraryEpilogue epilogue_;
  const Tensor *a_ = nullptr, *b_ = nullptr, *d_ = nullptr, *bias_ = nullptr;
};

}  // namespace

Attempt<LibraryEpilogue> library_epilogue(const Task& graph) { return EpilogueReader(graph).run(); }

Attempt<KernelSource> library_part(const Task& task, const Families& families) {
  const bool convolution = !task.operations.empty() && is_convolution(task.operations.front());
  return convolution ? convolution_part(task) : StepMaker(task, families).run();
}

std::optional<PartTask> step_alone(const Task& program, const Part& part, const Families& families,
                                   const EdgeFills& fills) {
  if (!read_before_update(program, part).empty()) return std::nullopt;
  auto graph = graph_part(program, part, fills);
  if (!graph || !library_part(graph->task, families)) return std::nullopt;
  return std::move(*graph);
}

}  // namespace cupilot
