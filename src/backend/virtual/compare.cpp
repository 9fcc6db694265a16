// Outputs of the virtual device against the oracle.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "backend/virtual/run.hpp"
#include "base/hash.hpp"
#include "task/content.hpp"
#include "task/host_judge.hpp"

namespace cupilot {
namespace {

// Elements of a tensor by linear index.
class Elements {
 public:
  Elements(const TensorShape& shape, DType type, const ptx::DeviceMemory& memory,
           std::size_t buffer)
      : shape_(shape),
        type_(static_cast<int>(type)),
        size_(size_of(type)),
        memory_(memory),
        buffer_(buffer) {
    std::int64_t dense = 1;
    for (std::size_t d = shape.extents.size(); d-- > 0;) {
      dense_ = dense_ && (shape.extents[d] == 1 || shape.strides[d] == dense);
      dense *= shape.extents[d];
    }
    data_ = memory.data(buffer).data();
    all_written_ = dense_ ? memory.unwritten_bytes(buffer) == 0 : false;
  }

  std::int64_t offset(std::int64_t index) const {
    if (dense_) return index;
    std::int64_t at = 0;
    for (std::size_t d = shape_.extents.size(); d-- > 0;) {
      at += index % shape_.extents[d] * shape_.strides[d];
      index /= shape_.extents[d];
    }
    return at;
  }
  bool written(std::int64_t index) const {
    if (all_written_) return true;
    const auto first = static_cast<std::uint64_t>(offset(index) * size_);
    for (int byte = 0; byte < size_; ++byte) {
      if (!memory_.is_written(buffer_, first + static_cast<std::uint64_t>(byte))) return false;
    }
    return true;
  }
  std::uint64_t bits(std::int64_t index) const { return load_bits(data_, offset(index), type_); }
  bool all_written() const { return all_written_; }

 private:
  const TensorShape& shape_;
  int type_;
  int size_;
  const ptx::DeviceMemory& memory_;
  std::size_t buffer_;
  const std::uint8_t* data_ = nullptr;
  bool dense_ = true, all_written_ = false;
};

// index_of: the tensor whose extreme is looked for.
struct Extreme {
  const std::uint8_t* memory = nullptr;  // null: another check
  FillParams layout{};

  // Returns the value at `place` of the line that output element `index` was made of; NaN outside.
  double at(std::int64_t index, double place) const {
    if (!(place >= 0.0 && place < static_cast<double>(layout.line))) return std::nan("");
    const long long stride = layout.line_stride;
    const long long dense =
        (index / stride * layout.line + static_cast<long long>(place)) * stride + index % stride;
    return load_real(memory, storage_offset(layout, dense), layout.type);
  }
};

Result<Extreme> extreme_of(const Task& task, const Tensor& output, const Workload& workload,
                           VirtualMemory& memory) {
  Extreme extreme;
  if (output.check.kind != CheckKind::index_of) return extreme;
  for (std::size_t t = 0; t < task.tensors.size(); ++t) {
    if (task.tensors[t].name != output.check.of || memory.tensor(t) == no_buffer) continue;
    Result<FillParams> layout = fill_params(task, t, workload, {});
    if (!layout) return layout.error();
    extreme = {memory.device().data(memory.tensor(t)).data(), *layout};
  }
  return extreme;
}

Judged judge_one(const BoundParams& bound, const Extreme& extreme, std::uint64_t bits, double want,
                 double sum, std::int64_t index) {
  if (extreme.memory == nullptr) return judge_element(bound, bits, want, sum);
  const double found = extreme.at(index, decode(bits, bound.type)), best = extreme.at(index, want);
  if (is_nan(found) && !is_nan(best))
    return judged_equal(false, std::numeric_limits<double>::infinity());
  return judge_element(bound, bits_of(found), best, sum);
}

// True where the reference has no answer to lines of nothing but an infinity, whose exponentials
// add up to nothing, say.
bool is_undecided(const Content& content, const Extreme& extreme, double want, std::int64_t index) {
  if (content.kind != ContentKind::infinite_lines) return false;
  return is_nan(extreme.memory == nullptr ? want : extreme.at(index, want));
}

// True if the reference in the contract's own type fails at an element; `overflow`: by an
// intermediate that is not finite.
bool fails_too(const BoundParams& bound, const Extreme& extreme, const Elements& plain, double want,
               double sum, std::int64_t index, bool overflow) {
  const std::uint64_t bits = plain.bits(index);
  if (overflow && (!is_float_type(bound.type) || is_finite(decode(bits, bound.type)))) return false;
  return !judge_one(bound, extreme, bits, want, sum, index).ok;
}

// A graph magnifies the errors of what it makes on the way, by what a whole line shares: an element
// may err this many times the largest honest error on its line (docs/formats/numerics.md).
constexpr double granted = 8;

// Elements begin to end of an output, whose reference begins at `at` of the oracle's values.
struct OracleBlock {
  std::int64_t begin, end;
  std::size_t at;
};

// The largest error of the runs of the reference in the contract's own type over the part of
// element `index`'s line, the last dimension, that lies in the block; elements that are not finite
// are left out.
double line_error(const std::vector<Elements>& plain, int type, const TensorShape& shape,
                  const OracleValues& oracle, const OracleBlock& block, std::int64_t index) {
  const std::int64_t line =
      std::max<std::int64_t>(1, shape.extents.empty() ? 1 : shape.extents.back());
  const std::int64_t first = std::max(block.begin, index / line * line);
  const std::int64_t last = std::min(block.end, (index / line + 1) * line);
  double most = 0;
  for (std::int64_t i = first; i < last; ++i) {
    const double want = oracle.values[block.at + static_cast<std::size_t>(i - block.begin)];
    for (const Elements& one : plain) {
      const double error = std::fabs(decode(one.bits(i), type) - want);
      if (std::isfinite(error)) most = std::max(most, error);
    }
  }
  return most;
}

// True if the element is right by another judgement than the reference's: an index that rounding
// may choose, what follows from a stored output. What stands in one not written makes none right.
bool is_other(const Alternatives* others, std::size_t at, std::uint64_t bits, double want) {
  if (others == nullptr) return false;
  const double value = others->values[at];
  if (!others->of_index && is_finite(want) && !is_finite(value)) return false;
  return judge_element(others->bound, bits, value, others->sums[at]).ok;
}

// One element of the oracle against what the kernel left.
void compare_element(const BoundParams& bound, const Extreme& extreme, std::uint64_t bits,
                     double want, double sum, std::int64_t index, OutputReport& report) {
  const Judged judged = judge_one(bound, extreme, bits, want, sum, index);
  ++report.compared;
  if (!judged.ok) ++report.failed;
  if (is_one_term(bound, want, sum)) {
    ++report.one_term;
    if (bits != encode(want, bound.type)) {
      ++report.one_term_inexact;
      report.one_term_error = std::max(report.one_term_error, one_term_error(bound, bits, want));
    }
  }
  const double ratio = judged.ok ? judged.ratio : std::max(judged.ratio, std::nextafter(1.0, 2.0));
  if (report.worst_index >= 0 && !(ratio > report.worst_ratio)) return;
  report.worst_ratio = ratio;
  report.worst_index = index;
  report.got = decode(bits, bound.type);
  report.want = want;
  report.bound = judged.bound;
}

}  // namespace

namespace {

// Judges an output's elements.
struct OutputJudge {
  TensorShape shape;
  BoundParams bound{};
  Extreme extreme;

  static Result<OutputJudge> of(const Task& task, std::size_t tensor, const Workload& workload,
                                const Content& content, VirtualMemory& memory) {
    Result<TensorShape> shape = shape_of(task, task.tensors[tensor], workload);
    if (!shape) return shape.error();
    Result<BoundParams> bound = bound_params(task, tensor, workload, content);
    if (!bound) return bound.error();
    Result<Extreme> extreme = extreme_of(task, task.tensors[tensor], workload, memory);
    if (!extreme) return extreme.error();
    return OutputJudge{std::move(*shape), *bound, *extreme};
  }
  OutputReport report(const Tensor& what) const {
    OutputReport report;
    report.tensor = what.name;
    report.elements = shape.elements;
    return report;
  }
};

}  // namespace

bool strains_types(ContentKind kind) {
  return kind == ContentKind::denormals || kind == ContentKind::scales || overflows(kind);
}

bool is_graph(const Task& task) { return task.operations.size() > 1; }

Result<OutputReport> compare_output(const Task& task, std::size_t tensor, const Workload& workload,
                                    const Content& content, VirtualMemory& memory,
                                    const OracleValues& oracle,
                                    std::span<VirtualMemory* const> plain,
                                    const Alternatives* others) {
  const Tensor& what = task.tensors[tensor];
  auto judge = OutputJudge::of(task, tensor, workload, content, memory);
  if (!judge) return judge.error();
  OutputReport report = judge->report(what);
  const std::int64_t count = report.elements;
  if (count == 0 || memory.tensor(tensor) == no_buffer) return report;
  const Elements elements(judge->shape, what.type, memory.device(), memory.tensor(tensor));
  if (what.role == Role::out && !elements.all_written()) {
    for (std::int64_t i = 0; i < count; ++i) report.never_written += elements.written(i) ? 0 : 1;
  }
  std::vector<Elements> poorer;
  for (VirtualMemory* const ran : plain)
    poorer.emplace_back(judge->shape, what.type, ran->device(), ran->tensor(tensor));
  std::size_t at = 0;
  for (const std::int64_t block : oracle.blocks) {
    const std::int64_t begin = block * OracleValues::block_elements;
    const std::int64_t end = std::min(begin + OracleValues::block_elements, count);
    for (std::int64_t i = begin; i < end; ++i, ++at) {
      if (report.never_written > 0 && !elements.written(i)) continue;
      const double want = oracle.values[at], sum = oracle.sums[at];
      const std::uint64_t bits = elements.bits(i);
      if (is_undecided(content, judge->extreme, want, i)) continue;
      if (is_other(others, at, bits, want)) {
        ++report.compared;
        continue;
      }
      const auto is_excused = [&] {
        if (strains_types(content.kind) && fails_too(judge->bound, judge->extreme, poorer.front(),
                                                     want, sum, i, overflows(content.kind)))
          return true;
        if (others != nullptr && others->of_index)
          return std::any_of(poorer.begin(), poorer.end(),
                             [&](const Elements& one) { return one.bits(i) == bits; });
        const double error = std::fabs(decode(bits, judge->bound.type) - want);
        return is_graph(task) && what.check.kind == CheckKind::within &&
               error <= granted * line_error(poorer, judge->bound.type, judge->shape, oracle,
                                             {begin, end, at - static_cast<std::size_t>(i - begin)},
                                             i);
      };
      if (!poorer.empty() && !judge_one(judge->bound, judge->extreme, bits, want, sum, i).ok &&
          is_excused()) {
        ++report.compared;
        ++report.excused;
        continue;
      }
      compare_element(judge->bound, judge->extreme, bits, want, sum, i, report);
    }
  }
  return report;
}

Result<OutputReport> judge_on_host(const VirtualContext& context, const TaskRef& task,
                                   std::size_t tensor, const Workload& workload,
                                   const Content& content, VirtualMemory& memory,
                                   std::string& reason) {
  const Tensor& what = task->tensors[tensor];
  Result<TensorShape> shape = shape_of(task, what, workload);
  if (!shape) return shape.error();
  OutputReport report;
  report.tensor = what.name;
  report.elements = report.compared = shape->elements;
  if (report.elements == 0 || memory.tensor(tensor) == no_buffer) return report;
  const Elements elements(*shape, what.type, memory.device(), memory.tensor(tensor));
  for (std::int64_t i = 0; !elements.all_written() && i < report.elements; ++i)
    report.never_written += elements.written(i) ? 0 : 1;
  if (report.never_written > 0) return report;
  std::vector<std::shared_ptr<const TensorBytes>> inputs;
  std::vector<std::span<const std::byte>> bytes;
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    bytes.emplace_back();
    if (memory.tensor(i) == no_buffer) continue;
    if (task->tensors[i].role == Role::out || task->tensors[i].role == Role::in_out) {
      bytes.back() = std::as_bytes(std::span(memory.device().data(memory.tensor(i))));
      continue;
    }
    auto made = context.inputs.get(task, i, workload, content);
    if (!made) return made.error();
    inputs.push_back(std::move(*made));
    bytes.back() = *inputs.back();
  }
  auto judged = host_judgement(task, tensor, workload, bytes);
  if (!judged) return judged.error();
  reason = std::move(*judged);
  return report;
}

Result<OutputReport> compare_written(const Task& task, std::size_t tensor, const Workload& workload,
                                     const Content& content, VirtualMemory& memory,
                                     const ElementRuns& runs, const ReferenceNumbers& reference,
                                     const Alternatives* others) {
  const Tensor& what = task.tensors[tensor];
  auto judge = OutputJudge::of(task, tensor, workload, content, memory);
  if (!judge) return judge.error();
  OutputReport report = judge->report(what);
  const Elements elements(judge->shape, what.type, memory.device(), memory.tensor(tensor));
  std::size_t at = 0;
  for (const std::int64_t begin : runs.begins) {
    for (std::int64_t i = begin; i < std::min(begin + runs.length, report.elements); ++i, ++at) {
      if (!elements.written(i)) continue;
      if (is_other(others, at, elements.bits(i), reference.values[at])) {
        ++report.compared;
        continue;
      }
      compare_element(judge->bound, judge->extreme, elements.bits(i), reference.values[at],
                      reference.sums[at], i, report);
    }
  }
  return report;
}

Result<std::string> hash_output(const Task& task, std::size_t tensor, const Workload& workload,
                                VirtualMemory& memory) {
  const Tensor& what = task.tensors[tensor];
  Result<TensorShape> shape = shape_of(task, what, workload);
  if (!shape) return shape.error();
  const std::int64_t size = size_of(what.type);
  if (shape->elements * size > bits_hash_cap) return std::string();
  std::string bytes(static_cast<std::size_t>(shape->elements * size), '\0');
  if (shape->elements > 0) {
    const Elements elements(*shape, what.type, memory.device(), memory.tensor(tensor));
    for (std::int64_t i = 0; i < shape->elements; ++i) {
      store_bits(bytes.data(), i, static_cast<int>(what.type), elements.bits(i));
    }
  }
  return sha256_hex(bytes);
}

}  // namespace cupilot
