#include "program/library_convolution.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "kernel/library_step.hpp"
#include "program/library_text.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

Rejected no_convolution(const std::string& why) { return reject("measure.failed", why); }

// The kernel that stands in for the library, an element a thread.
constexpr std::string_view convolution_text = R"(
// Computes what the library's step computes, where there is no library: y = convolution of x by the
// weight, plus bias, row after row. Types and class are the library's to know.
extern "C" __global__ void library_convolution(
    const type_d* x, const type_d* weight, type_d* y, const type_d* bias, long long batch, long long channels,
    long long outputs, long long groups, long long size0, long long size1, long long size2, long long window0,
    long long window1, long long window2, long long places0, long long places1, long long places2, long long stride0,
    long long stride1, long long stride2, long long dilation0, long long dilation1, long long dilation2,
    long long padding0, long long padding1, long long padding2, int transposed, int, int) {
  const long long at = blockIdx.x * 256ll + threadIdx.x;
  if (at >= batch * outputs * places0 * places1 * places2) return;
  const long long size[3] = {size0, size1, size2}, window[3] = {window0, window1, window2};
  const long long stride[3] = {stride0, stride1, stride2}, dilation[3] = {dilation0, dilation1, dilation2};
  const long long padding[3] = {padding0, padding1, padding2};
  const long long place[3] = {at / places2 / places1 % places0, at / places2 % places1, at % places2};
  const long long o = at / places2 / places1 / places0 % outputs, n = at / places2 / places1 / places0 / outputs;
  const long long ins = channels / groups, outs = outputs / groups, first = o / outs * ins;
  const long long taps = window0 * window1 * window2;
  float sum = 0;
  for (long long c = 0; c < ins; ++c) {
    const type_d* const from = x + (n * channels + first + c) * size0 * size1 * size2;
    const type_d* const by = weight + (transposed ? (first + c) * outs + o % outs : o * ins + c) * taps;
    for (long long tap = 0; tap < taps; ++tap) {
      const long long k[3] = {tap / window[2] / window[1], tap / window[2] % window[1], tap % window[2]};
      long long offset = 0;
      bool inside = true;
      for (int d = 0; d < 3; ++d) {
        const long long reached = place[d] + padding[d] - k[d] * dilation[d];
        const long long i = transposed ? reached / stride[d] : place[d] * stride[d] - padding[d] + k[d] * dilation[d];
        inside = inside && i >= 0 && i < size[d] && (!transposed || (reached >= 0 && reached % stride[d] == 0));
        offset = offset * size[d] + i;
      }
      if (inside) sum = fmaf(to_float(from[offset]), to_float(by[tap]), sum);
    }
  }
  if (bias != nullptr) sum += to_float(bias[o]);
  y[at] = FromFloat<type_d>::of(sum);
}
)";

// Makes the step of one convolution.
class ConvolutionMaker {
 public:
  explicit ConvolutionMaker(const Task& task)
      : task_(task), operation_(task.operations.front()), rank_(0) {}

  Attempt<KernelSource> run() {
    if (auto refused = read_operands()) return std::move(*refused);
    if (auto refused = read_class()) return std::move(*refused);
    if (auto refused = read_window()) return std::move(*refused);
    KernelSource out;
    out.template_name = cudnn_library;
    out.text = library_text({{"type_d", y_->type}}, convolution_text);
    out.plan.launches = {launch()};
    return out;
  }

 private:
  using Refused = std::optional<Rejected>;
  using Numbers = std::array<std::int64_t, 3>;

  Refused read_operands() {
    if (task_.operations.size() != 1 || !task_.repeats.empty() || operation_.outputs.size() != 1)
      return no_convolution(fmt::format("cuDNN computes a convolution alone, not {}",
                                        task_.operations.size() > 1
                                            ? "with operation " + task_.operations[1].name
                                            : "in a loop"));
    const auto operand = [&](std::size_t i) {
      return i < operation_.inputs.size() ? find_tensor(task_, operation_.inputs[i]) : nullptr;
    };
    x_ = operand(0), weight_ = operand(1), bias_ = operand(2);
    y_ = find_tensor(task_, operation_.outputs.front());
    if (x_ == nullptr || weight_ == nullptr || y_ == nullptr || y_->role != Role::out)
      return no_convolution("an operand of the convolution is no tensor");
    for (const Tensor* one : {x_, weight_, bias_, static_cast<const Tensor*>(y_)}) {
      if (one == nullptr) continue;
      if (!one->strides.empty()) return no_convolution("a tensor has strides of its own");
      if (one->type != y_->type)
        return no_convolution("cuDNN's operands and results are of one type");
    }
    rank_ = x_->shape.size() - 2;
    return std::nullopt;
  }

  Refused read_class() const {
    const Precision own = task_.precision;
    const bool half = y_->type == DType::bf16 || y_->type == DType::f16;
    const bool same = own == (y_->type == DType::bf16 ? Precision::bf16 : Precision::fp16);
    const bool lower = own == Precision::fp64 || own == Precision::integer ||
                       own == Precision::fp8 || own == Precision::fp8_promoted;
    if ((y_->type != DType::f32 && !half) || lower || (half && !same))
      return no_convolution(fmt::format("a step of {} operands in class {} is not built",
                                        name_of(y_->type), name_of(own)));
    if (half && bias_ != nullptr)
      return no_convolution("cuDNN rounds a result of 16 bits before it adds the bias");
    return std::nullopt;
  }

  Refused read_window() {
    transposed_ = find_operator(operation_.kind)->rule == "transposed_window";
    stride_ = numbers("stride", 1);
    padding_ = numbers("padding", 0);
    dilation_ = numbers("dilation", 1);
    groups_ = groups();
    if (numbers("same", 0)[2] == 0) return std::nullopt;
    const auto weight = shape_of(task_, *weight_, task_.time_shapes.front());
    if (!weight) return no_convolution(weight.error().message);
    for (std::size_t d = 3 - rank_; d < 3; ++d) {
      const std::int64_t all = dilation_[d] * (weight->extents[d + rank_ - 1] - 1);
      if (all % 2 != 0) return no_convolution("cuDNN pads both sides alike");
      padding_[d] = all / 2;
    }
    return std::nullopt;
  }

  // An attribute's numbers of three dimensions, absent ones in front; one number is of all.
  Numbers numbers(const std::string& name, std::int64_t otherwise) const {
    Numbers out{otherwise, otherwise, otherwise};
    const auto given = operation_.attributes.find(name);
    if (given == operation_.attributes.end()) return out;
    std::vector<std::int64_t> values;
    if (const auto* one = std::get_if<std::int64_t>(&given->second)) values = {*one};
    if (const auto* all = std::get_if<std::vector<std::int64_t>>(&given->second)) values = *all;
    for (std::size_t d = 0; d < rank_ && !values.empty(); ++d)
      out[3 - rank_ + d] = values[std::min(d, values.size() - 1)];
    return out;
  }

  Expr groups() const {
    const auto given = operation_.attributes.find("groups");
    const auto* text =
        given == operation_.attributes.end() ? nullptr : std::get_if<std::string>(&given->second);
    if (text != nullptr) return *text;
    return std::max<std::int64_t>(numbers("groups", 1)[2], 1);
  }

  std::vector<Expr> in_space(const Tensor& tensor) const {
    std::vector<Expr> out(3 - rank_, Expr(1));
    out.insert(out.end(), tensor.shape.begin() + 2, tensor.shape.end());
    return out;
  }

  PlanLaunch launch() const {
    PlanLaunch out{.name = "library_convolution", .entry = "library_convolution"};
    std::string elements;
    for (const Expr& extent : y_->shape)
      elements += fmt::format("{}({})", elements.empty() ? "" : " * ", extent.text);
    out.grid = {fmt::format("cdiv({}, {})", elements, stand_in_threads)};
    out.block = {stand_in_threads};
    out.args = {{.name = x_->name},
                {.name = weight_->name},
                {.name = y_->name},
                {.name = bias_ == nullptr ? "no_bias?" : bias_->name}};
    const auto wide = [&](const Expr& value) {
      out.args.push_back({.kind = PlanArgument::Kind::i64, .value = value});
    };
    for (const Expr& one : {x_->shape[0], x_->shape[1], y_->shape[1], groups_}) wide(one);
    for (const Tensor* one : {x_, weight_, y_})
      for (const Expr& extent : in_space(*one)) wide(extent);
    for (const Numbers& all : {stride_, dilation_, padding_})
      for (const std::int64_t one : all) wide(one);
    const auto narrow = [&](auto value) {
      out.args.push_back(
          {.kind = PlanArgument::Kind::i32, .value = static_cast<std::int64_t>(value)});
    };
    narrow(transposed_);
    narrow(y_->type);
    narrow(task_.precision == Precision::tf32 ? StepCompute::tf32 : StepCompute::full);
    out.library = cudnn_library;
    return out;
  }

  const Task& task_;
  const Operation& operation_;
  std::size_t rank_;  // spatial dimensions
  bool transposed_ = false;
  Expr groups_ = 1;
  Numbers stride_{}, padding_{}, dilation_{};
  const Tensor *x_ = nullptr, *weight_ = nullptr, *y_ = nullptr, *bias_ = nullptr;
};

}  // namespace

bool is_convolution(const Operation& operation) {
  const OperatorRow* row = find_operator(operation.kind);
  return row != nullptr && (row->rule == "window" || row->rule == "transposed_window");
}

Attempt<KernelSource> convolution_part(const Task& task) { return ConvolutionMaker(task).run(); }

}  // namespace cupilot
