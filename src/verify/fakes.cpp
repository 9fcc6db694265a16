#include "verify/fakes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "task/content.hpp"
#include "task/operators.hpp"
#include "verify/shown.hpp"

namespace cupilot {
namespace {

bool is_float(const Tensor& tensor) { return is_float_type(static_cast<int>(tensor.type)); }

// Nearest with ties to even, 11 significand bits.
double to_tf32(double x) {
  auto value = static_cast<float>(x);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  if (std::isfinite(value)) bits = (bits + 0x0FFFu + ((bits >> 13) & 1u)) & ~0x1FFFu;
  std::memcpy(&value, &bits, 4);
  return value;
}

double rounded(double x, Precision precision) {
  if (precision == Precision::tf32) return to_tf32(x);
  const int type = precision == Precision::bf16 ? storage_bf16 : storage_f16;
  return decode(encode(x, type), type);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  std::int64_t count = 0;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    sum += x;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

Result<std::vector<double>> copied(const Task& task, std::size_t input, const Workload& workload,
                                   const TensorList& inputs, std::size_t count) {
  auto layout = fill_params(task, input, workload, {});
  if (!layout) return layout.error();
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = storage_offset(*layout, static_cast<std::int64_t>(i) % layout->elements);
    out[i] = is_float_type(layout->type)
                 ? load_real(inputs[input].data(), at, layout->type)
                 : static_cast<double>(load_integer(inputs[input].data(), at, layout->type));
  }
  return out;
}

Result<TensorList> rounded_inputs(const Task& task, const Workload& workload, TensorList inputs,
                                  Precision precision) {
  for (std::size_t t = 0; t < task.tensors.size(); ++t) {
    if (task.tensors[t].role == Role::out || task.tensors[t].type != DType::f32) continue;
    auto layout = fill_params(task, t, workload, {});
    if (!layout) return layout.error();
    for (std::int64_t i = 0; i < layout->elements; ++i) {
      const auto at = storage_offset(*layout, i);
      const double x = rounded(load_real(inputs[t].data(), at, layout->type), precision);
      store_bits(inputs[t].data(), at, layout->type, encode(x, layout->type));
    }
  }
  return inputs;
}

bool has_wide_input(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
    return tensor.role != Role::out && tensor.type == DType::f32;
  });
}

}  // namespace

Result<TensorList> contents_of(const Task& task, const Workload& workload, const Content& content) {
  TensorList out(task.tensors.size());
  for (std::size_t t = 0; t < task.tensors.size(); ++t) {
    if (task.tensors[t].role == Role::out) continue;
    auto params = fill_params(task, t, workload, content);
    if (!params) return params.error();
    out[t].resize(static_cast<std::size_t>(params->span * size_of(task.tensors[t].type)));
    fill(*params, out[t]);
  }
  return out;
}

std::vector<Fake> fakes_of(const Task& task, std::size_t output) {
  using Kind = Fake::Kind;
  std::vector<Fake> out = {{.kind = Kind::constant, .name = "zeros", .value = 0},
                           {.kind = Kind::constant, .name = "ones", .value = 1},
                           {.kind = Kind::mean, .name = "its mean everywhere"},
                           {.kind = Kind::shifted, .name = "every element one place off"},
                           {.kind = Kind::first_row, .name = "its first row for all rows"},
                           {.kind = Kind::negated, .name = "the negated result"}};
  for (std::size_t t = 0; t < task.tensors.size(); ++t) {
    if (task.tensors[t].role == Role::out) continue;
    out.push_back(
        {.kind = Kind::copy, .name = "a copy of input " + task.tensors[t].name, .input = t});
  }
  if (!is_float(task.tensors[output])) return out;
  out.push_back({.kind = Kind::scaled, .name = "the result times 1 + 2^-10"});
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    if (has_wide_input(task))
      out.push_back({.kind = Kind::rounded_inputs,
                     .name = fmt::format("inputs rounded to {}", name_of(precision)),
                     .precision = precision});
    if (task.tensors[output].type == DType::f32)
      out.push_back({.kind = Kind::rounded_output,
                     .name = fmt::format("the result rounded to {}", name_of(precision)),
                     .precision = precision});
  }
  return out;
}

Result<std::vector<double>> fake_values(const Fake& fake, const TaskRef& task, std::size_t output,
                                        const Workload& workload, const TensorList& inputs,
                                        const std::vector<double>& right,
                                        const Recompute& recompute) {
  const std::size_t count = right.size();
  std::vector<double> out = right;
  switch (fake.kind) {
    case Fake::Kind::constant:
      std::fill(out.begin(), out.end(), fake.value);
      break;
    case Fake::Kind::mean:
      std::fill(out.begin(), out.end(), mean_of(right));
      break;
    case Fake::Kind::copy:
      return copied(task, fake.input, workload, inputs, count);
    case Fake::Kind::shifted:
      if (!out.empty()) std::rotate(out.begin(), out.begin() + 1, out.end());
      break;
    case Fake::Kind::first_row: {
      const auto shape = shape_of(task, task->tensors[output], workload);
      if (!shape) return shape.error();
      const std::size_t width =
          shape->extents.size() < 2 ? 1 : static_cast<std::size_t>(shape->extents.back());
      for (std::size_t i = 0; i < count; ++i) out[i] = right[i % width];
      break;
    }
    case Fake::Kind::negated:
      // The other truth value; minus one is the same.
      if (task->tensors[output].type == DType::boolean) {
        for (double& x : out) x = x == 0.0 ? 1.0 : 0.0;
        break;
      }
      for (double& x : out) x = -x;
      break;
    case Fake::Kind::scaled:
      for (double& x : out) x *= 1 + 0x1p-10;
      break;
    case Fake::Kind::rounded_output:
      for (double& x : out) x = rounded(x, fake.precision);
      break;
    case Fake::Kind::rounded_inputs: {
      auto poorer = rounded_inputs(task, workload, inputs, fake.precision);
      if (!poorer) return poorer.error();
      return recompute(*poorer);
    }
  }
  return out;
}

Result<bool> accepts(const Task& task, std::size_t output, const Workload& workload,
                     const Content& content, const ReferenceValues& right,
                     const std::vector<double>& values) {
  auto bound = bound_params(task, output, workload, content);
  if (!bound) return bound.error();
  // An index is compared as a number here: ties are too rare to matter.
  if (bound->check == check_index_of) bound->check = check_bitwise;
  const double one_term = one_term_error_of(task);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = encode(values[i], bound->type);
    if (!judge_element(*bound, bits, right.values[i], right.sums[i]).ok) return false;
    const bool lost = is_one_term(*bound, right.values[i], right.sums[i]) &&
                      bits != encode(right.values[i], bound->type);
    if (lost && one_term_error(*bound, bits, right.values[i]) > one_term) return false;
  }
  return true;
}

namespace {

// True if an output is made of sums over several lines of an input, and of no products of inputs: a
// probe that lets few terms of each line live leaves many of them.
bool sums_many_lines(const Task& task, const Tensor& output, const Workload& workload) {
  const bool contracts =
      std::any_of(task.operations.begin(), task.operations.end(), [](const Operation& operation) {
        const OperatorRow* row = find_operator(operation.kind);
        return row == nullptr || row->factors > 1;
      });
  if (task.operations.empty() || task.reference.stages.empty() || contracts) return false;
  const auto terms = evaluate_or_error(output.check.length, task_scope(task, workload));
  if (!terms) return false;
  std::int64_t longest = 1;
  for (const Tensor& tensor : task.tensors) {
    const auto shape = shape_of(task, tensor, workload);
    if (tensor.role == Role::out || !shape) continue;
    for (const std::int64_t extent : shape->extents) longest = std::max(longest, extent);
  }
  return *terms >= 4 * longest;
}

}  // namespace

std::string why_allowed(const Task& task, std::size_t output, const Workload& workload,
                        const Fake& fake) {
  const Tensor& what = task.tensors[output];
  using Kind = Fake::Kind;
  const auto shape = shape_of(task, what, workload);
  const bool alone = shape && shape->elements == 1;
  if (alone && (fake.kind == Kind::mean || fake.kind == Kind::shifted))
    return "there is one element";
  // PTX of a lower class is forbidden all the same.
  if (fake.kind == Kind::rounded_inputs && (alone || sums_many_lines(task, what, workload)))
    return alone ? "one sum of everything averages roundings of inputs out"
                 : "sums of many lines average roundings of inputs out";
  if (fake.kind == Kind::rounded_output && alone && task.operations.size() == 1 &&
      task.reference.stages.size() > 1)
    return "the one number is a difference of larger sums, whose errors hide its last bits";
  // An output may be made of one row, or be an input's copy; that it is no constant the other fakes
  // show.
  if (fake.kind == Kind::copy) return "is the right answer for these shapes";
  if (fake.kind == Kind::first_row) return "rows of the right answer are alike";
  const bool precise = fake.kind == Kind::scaled || fake.kind == Kind::rounded_inputs ||
                       fake.kind == Kind::rounded_output;
  if (!precise) return "";
  const double lost = fake.kind == Kind::scaled ? 0x1p-10 : input_roundoff(fake.precision);
  if (what.check.kind == CheckKind::close) {
    return what.check.relative >= lost / 8 ? "check close allows as much" : "";
  }
  if (what.check.kind == CheckKind::index_of || !is_float(what))
    return "an index shows no precision";
  const double granted =
      std::max(task.precision == Precision::fp32_strict || task.precision == Precision::fp64
                   ? 0.0
                   : 4 * input_roundoff(task.precision),
               unit_roundoff(what.type));
  return granted >= lost / 8 ? fmt::format("the class {} and the type {} allow as much",
                                           name_of(task.precision), name_of(what.type))
                             : "";
}

Result<BoundParams> honest_bound(const Task& task, std::size_t output, const Workload& workload) {
  Task strict = task;
  // The sum's own roundoff: neither the output's rounding nor operands rounded by leave.
  if (task.precision != Precision::fp64 && task.precision != Precision::integer)
    strict.precision = Precision::fp32_strict;
  return bound_params(strict, output, workload, {});
}

bool is_perturbed(const Tensor& tensor) {
  const FillKind kind = tensor.fill.kind;
  const bool mask =
      kind == FillKind::labels || kind == FillKind::boolean || kind == FillKind::one_hot_rows;
  return tensor.role != Role::out && is_float(tensor) && !mask;
}

}  // namespace cupilot
