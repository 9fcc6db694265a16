#include "evolution/evaluate/one_by_one.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "task/content.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

// Applies a function to each finite number of a storage.
template <typename Function>
void change(const Tensor& tensor, std::vector<std::byte>& storage, Function function) {
  const int type = static_cast<int>(tensor.type);
  const auto count = static_cast<long long>(storage.size()) / size_of(tensor.type);
  for (long long i = 0; i < count; ++i) {
    const double value = decode(load_bits(storage.data(), i, type), type);
    if (!std::isfinite(value) || value == 0.0) continue;
    const double changed = function(value);
    if (changed != value) store_bits(storage.data(), i, type, encode(changed, type));
  }
}

// Terms of an operation's sums, by its output's check.
double terms_of(const Task& task, const Tensor& output, const Workload& workload) {
  const auto length = evaluate_or_error(output.check.length, task_scope(task, workload));
  return length ? static_cast<double>(*length) : 1.0;
}

}  // namespace

FactorWidth width_of(Precision precision) {
  // One unit of fp32 a step of the narrowest instruction: 4 terms of tf32, 8 of 16 bits.
  switch (precision) {
    case Precision::tf32:
      return {.bits = 10, .lost = 0x1p-24 / 4};
    case Precision::bf16:
      return {.bits = 7, .lost = 0x1p-24 / 8};
    case Precision::fp16:
      return {.bits = 10, .least = -14, .largest = 65504, .lost = 0x1p-24 / 8};
    default:
      return {};
  }
}

double narrowed(double value, const FactorWidth& width) {
  if (width.bits == 0 || value == 0.0 || !std::isfinite(value)) return value;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), width.least) - width.bits);
  const double steps = value / step;
  const double out = (width.truncates ? std::trunc(steps) : std::nearbyint(steps)) * step;
  if (width.largest == 0 || std::fabs(out) <= width.largest) return out;
  const double beyond = width.truncates ? width.largest : std::numeric_limits<double>::infinity();
  return std::copysign(beyond, out);
}

bool is_contraction(const Operation& operation) {
  const OperatorRow* row = find_operator(operation.kind);
  return row != nullptr && row->factors == 2;
}

Result<void> OneByOne::cut() {
  for (std::size_t i = 0; i < task_.operations.size(); ++i) {
    auto form = graph_part(task_, Part{static_cast<int>(i)});
    if (!form) return form.error();
    tasks_.emplace_back(form->task);
    forms_.push_back(std::move(*form));
  }
  return {};
}

Result<OneByOne::Storages> OneByOne::run(const Workload& workload, const Storages& inputs,
                                         std::span<const FactorWidth> widths,
                                         HonestOrder order) const {
  Values values;
  for (std::size_t t = 0; t < task_.tensors.size(); ++t) values[task_.tensors[t].name] = inputs[t];
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    auto done = step(i, workload, widths[i], order, values);
    if (!done) return done.error();
    if (!*done) return Storages();
  }
  Storages left;
  for (const Tensor& tensor : task_.tensors) left.push_back(values[tensor.name]);
  return left;
}

Result<bool> OneByOne::step(std::size_t number, const Workload& workload, const FactorWidth& width,
                            HonestOrder order, Values& values) const {
  const PartTask& form = forms_[number];
  const Operation& operation = form.task.operations.front();
  Workload own;
  for (const auto& [axis, extent] : form.axes) {
    const auto size = evaluate_or_error(extent, task_scope(task_, workload));
    if (!size) return size.error();
    own.sizes[axis] = *size;
  }
  const bool contracts = is_contraction(operation);
  Storages inputs(form.task.tensors.size());
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    const Tensor& tensor = form.task.tensors[t];
    if (tensor.role == Role::out) continue;
    inputs[t] = values[form.tensors.at(tensor.name)];
    const auto at = std::find(operation.inputs.begin(), operation.inputs.end(), tensor.name);
    if (contracts && width.bits > 0 && at - operation.inputs.begin() < 2)
      change(tensor, inputs[t], [&](double value) { return narrowed(value, width); });
  }
  auto left = device_.honest(tasks_[number], own, inputs, order);
  if (!left) return left.error();
  if (left->empty()) return false;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    const Tensor& tensor = form.task.tensors[t];
    if (tensor.role == Role::in || tensor.role == Role::constant) continue;
    if (contracts && width.truncates && width.lost > 0) {
      const double kept = 1.0 - width.lost * terms_of(form.task, tensor, own);
      change(tensor, (*left)[t], [&](double value) { return value * kept; });
    }
    if (width.result_bits > 0)
      change(tensor, (*left)[t],
             [&](double value) { return narrowed(value, {.bits = width.result_bits}); });
    values[form.tensors.at(tensor.name)] = std::move((*left)[t]);
  }
  return true;
}

}  // namespace cupilot
