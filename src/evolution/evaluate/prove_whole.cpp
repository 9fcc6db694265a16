#include "evolution/evaluate/prove_whole.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/verification.hpp>
#include <cupilot/rng.hpp>

#include "backend/observed.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/one_by_one.hpp"
#include "task/content.hpp"
#include "task/operators.hpp"
#include "task/reference/stage_plan.hpp"
#include "verify/fakes.hpp"
#include "verify/rms.hpp"

namespace cupilot {
namespace {

// Terms that one honest execution may combine.
constexpr double most_terms = 4e6;
constexpr std::array contents = {ContentKind::ordinary, ContentKind::ordinary, ContentKind::probe,
                                 ContentKind::sparse, ContentKind::hard_line};
constexpr std::array orders = {HonestOrder::blocks, HonestOrder::in_turn, HonestOrder::by_eights};

// A sum of what more of them truncate may pass twice the root of its squares.
constexpr std::ptrdiff_t most_contractions = 8;

// The largest shape that is cheap enough, else the cheapest, the task's own among them: a loop of
// many steps leaves a battery few shapes.
std::optional<Workload> shape_to_prove(const Task& task, const std::vector<Case>& cases) {
  std::optional<Workload> chosen;
  double best = 0;
  const auto consider = [&](const Workload& shape) {
    const double terms = reference_terms(task, shape);
    const bool better = best > most_terms ? terms < best : terms <= most_terms && terms > best;
    if (!chosen || better) chosen = shape, best = terms;
  };
  for (const Case& what : cases) {
    if (!what.sampled && what.content.kind == ContentKind::ordinary) consider(what.workload);
  }
  for (const auto* own : {&task.time_shapes, &task.check_shapes}) {
    for (const Workload& shape : *own) {
      if (chosen && best > most_terms) consider(shape);
    }
  }
  return chosen;
}

std::size_t place_of(const Task& task, const std::string& name) {
  return static_cast<std::size_t>(find_tensor(task, name) - task.tensors.data());
}

std::vector<double> numbers_of(const Tensor& tensor, const std::vector<std::byte>& storage) {
  const int type = static_cast<int>(tensor.type);
  std::vector<double> out(storage.size() / static_cast<std::size_t>(size_of(tensor.type)));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = decode(load_bits(storage.data(), static_cast<long long>(i), type), type);
  return out;
}

Result<Storages> inputs_of(const Task& task, const Case& what) {
  Storages inputs(task.tensors.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (task.tensors[i].role == Role::out) continue;
    const auto params = fill_params(task, i, what.workload, what.content);
    if (!params) return params.error();
    inputs[i].resize(static_cast<std::size_t>(params->span * size_of(task.tensors[i].type)));
    fill(*params, inputs[i]);
  }
  return inputs;
}

// Moves each element of floating inputs, drawn: one in four to the next number above, one in four
// to the next below. Zeros and what is not finite stay; in classes below fp32-strict numbers of 16
// bits and fewer do, which contractions take as they are.
void move_inputs(const Task& task, Storages& inputs, std::uint64_t seed) {
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    const Tensor& tensor = task.tensors[t];
    const int type = static_cast<int>(tensor.type);
    if (tensor.role == Role::out || !is_float_type(type)) continue;
    if (task.precision != Precision::fp32_strict && size_of(tensor.type) < 4) continue;
    Rng draw = Rng::of(seed, "moved " + tensor.name);
    const auto count = static_cast<long long>(inputs[t].size()) / size_of(tensor.type);
    for (long long i = 0; i < count; ++i) {
      const std::uint64_t way = draw.next() % 4;
      const std::uint64_t bits = load_bits(inputs[t].data(), i, type);
      const double value = decode(bits, type);
      if (way > 1 || value == 0.0 || !std::isfinite(value)) continue;
      const std::uint64_t moved = way == 0 ? bits + 1 : bits - 1;
      if (std::isfinite(decode(moved, type)) && decode(moved, type) != 0.0)
        store_bits(inputs[t].data(), i, type, moved);
    }
  }
}

// In the first round blocks are summed over the inputs as they are.
Storages moved_inputs(const Task& task, const Case& what, const Storages& inputs, HonestOrder order,
                      int round) {
  Storages moved = inputs;
  if (order != HonestOrder::blocks || round > 0)
    move_inputs(task, moved,
                what.content.seed + static_cast<std::uint64_t>(order) +
                    static_cast<std::uint64_t>(1000003 * round));
  return moved;
}

// Leaves the storages of the task's tensors; none where it did not end.
using Execution = std::function<Result<Storages>()>;

// The honest executions of a case. Those of a graph in a lower class go operation by operation.
struct Executions {
  std::vector<Execution> all{};
  // The first of those that differ from the first of all by one contraction that truncates.
  std::size_t single = 0;
};

Executions strict_executions(ObservingDevice& device, const TaskRef& task, const Case& what,
                             const Storages& inputs, int round) {
  Executions out;
  for (const HonestOrder order : orders)
    out.all.push_back([&, order, round] {
      return device.honest(task, what.workload, moved_inputs(*task, what, inputs, order, round),
                           order);
    });
  out.single = out.all.size();
  return out;
}

// Tensor cores take factors rounded, in each order of sums; or truncated, in all contractions and
// in one at a time.
Executions class_executions(const OneByOne& graph, const Task& task, const Case& what,
                            const Storages& inputs, int round) {
  const FactorWidth nearest = width_of(task.precision);
  FactorWidth truncated = nearest;
  truncated.truncates = true;
  const std::vector<FactorWidth> all(task.operations.size(), nearest);
  Executions out;
  const auto add = [&](std::vector<FactorWidth> widths, HonestOrder order) {
    out.all.push_back([&, order, round, widths = std::move(widths)] {
      return graph.run(what.workload, moved_inputs(task, what, inputs, order, round), widths,
                       order);
    });
  };
  for (const HonestOrder order : orders) add(all, order);
  add(std::vector(all.size(), truncated), HonestOrder::blocks);
  out.single = out.all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_contraction(task.operations[i])) continue;
    auto widths = all;
    widths[i] = truncated;
    add(std::move(widths), HonestOrder::blocks);
  }
  return out;
}

// Works on threads of their own.
template <class Outcome>
class SideBySide {
 public:
  // `work` lives until take().
  template <class Work>
  void begin(const Work& work) {
    running_.push_back(std::async(std::launch::async, [&work, stop = stop_flags()] {
      const StopScope stopped(stop);
      const PhaseLog log;
      Outcome outcome = work();
      return std::pair(std::move(outcome), log.cpu());
    }));
  }
  // In the order in which they began.
  std::vector<Outcome> take() {
    std::vector<Outcome> all;
    for (auto& one : running_) {
      auto [outcome, spent] = one.get();
      credit(spent);
      all.push_back(std::move(outcome));
    }
    return all;
  }

 private:
  std::vector<std::future<std::pair<Outcome, CpuSpent>>> running_;
};

void keep_largest(double error, double& largest) {
  if (!(error <= largest)) largest = std::isnan(error) ? HUGE_VAL : error;
}

// Returns what honest executions err, of each output element by element; empty where one did not
// end: the largest error, or the root of the squares of what single contractions move by
// truncating, which stands for any of them together.
Result<std::vector<std::vector<double>>> honest_errors(const Task& task,
                                                       const std::vector<Result<Storages>>& runs,
                                                       std::size_t single,
                                                       const std::vector<ReferenceValues>& values) {
  std::vector<std::vector<double>> out;
  for (const Result<Storages>& left : runs) {
    if (!left) return left.error();
    if (left->empty()) return std::vector<std::vector<double>>();
  }
  for (const ReferenceValues& one : values) {
    std::vector<double> largest(one.values.size(), 0.0), squares = largest;
    const std::size_t at = place_of(task, one.tensor);
    const bool judged = is_judged_by_rms(task.tensors[at]);
    std::vector<double> first;
    for (std::size_t run = 0; judged && run < runs.size(); ++run) {
      const auto got = numbers_of(task.tensors[at], (*runs[run])[at]);
      if (run == 0) first = got;
      for (std::size_t e = 0; e < largest.size(); ++e) {
        if (run < single)
          keep_largest(std::fabs(got[e] - one.values[e]), largest[e]);
        else
          squares[e] += (got[e] - first[e]) * (got[e] - first[e]);
      }
    }
    for (std::size_t e = 0; e < largest.size(); ++e)
      keep_largest(std::sqrt(squares[e]), largest[e]);
    out.push_back(std::move(largest));
  }
  return out;
}

Result<void> judge_output(const Task& task, const HonestReference& honest, std::size_t output,
                          const Storages& left, WholeProof& proof) {
  const ReferenceValues& want = honest.want[output];
  const Case& what = honest.what;
  const std::size_t at = place_of(task, want.tensor);
  const Tensor& tensor = task.tensors[at];
  const auto count = static_cast<std::int64_t>(want.values.size());
  if (!is_judged_by_rms(tensor) || count < least_for_rms) return {};
  const auto bound = bound_params(task, at, what.workload, what.content);
  if (!bound) return bound.error();
  const auto shape = shape_of(task, tensor, what.workload);
  if (!shape) return shape.error();
  const auto got = numbers_of(tensor, left[at]);
  if (got.size() != want.values.size()) return {};
  const auto tells_nothing = accepts(task, at, what.workload, what.content, want,
                                     std::vector<double>(want.values.size(), 0.0));
  if (!tells_nothing) return tells_nothing.error();
  if (*tells_nothing) proof.loose = want.tensor;
  constexpr double one_operation = 8 * 0x1p-24;  // as the strict class grants a sum of one term
  const HonestOutput known{want.values, honest.err0[output],
                           shape->extents.empty() ? 1 : shape->extents.back(),
                           one_operation + bound->per_value, bound->tiny};
  const RmsVerdict verdict = judge_by_rms(known, got);
  if (verdict.looked_at < least_for_rms) return {};
  proof.worst = std::max(proof.worst, verdict.ratio);
  proof.workload = what.workload;
  ++proof.outputs;
  if (verdict.ok || proof.refused) return {};
  const std::string where =
      verdict.first < 0 ? want.tensor : fmt::format("{}[{}]", want.tensor, verdict.first);
  proof.refused = reject(
      "verify.bound",
      fmt::format("the {} error of {} elements of {} is {:.3g}; honest executions allow {:.3g}, "
                  "content {}",
                  verdict.measure, verdict.count, want.tensor, verdict.error, verdict.allowed,
                  name_of(what.content.kind)),
      where);
  return {};
}

// True for graphs in tf32, bf16 or fp16 that honest executions stand for: each product of factors
// is an operation of its own, and sums are in fp32.
bool is_executed_in_class(const Task& task) {
  const auto factors = [](const Operation& one) {
    const OperatorRow* row = find_operator(one.kind);
    return row == nullptr ? std::size_t{0} : row->factors;
  };
  const auto contractions =
      std::count_if(task.operations.begin(), task.operations.end(), is_contraction);
  return width_of(task.precision).bits > 0 && task.repeats.empty() && contractions > 0 &&
         contractions <= most_contractions &&
         std::all_of(
             task.operations.begin(), task.operations.end(),
             [&](const Operation& one) { return factors(one) == 0 || is_contraction(one); }) &&
         std::all_of(task.tensors.begin(), task.tensors.end(),
                     [](const Tensor& one) { return one.check.arithmetic == DType::f32; });
}

// A miss by less than this factor is judged again, beside so many rounds of further executions.
constexpr double doubtful = 2;
constexpr int more_rounds = 2;

void add_executions(HonestReference& honest, const HonestReference& more) {
  for (std::size_t i = 0; i < std::min(honest.err0.size(), more.err0.size()); ++i) {
    for (std::size_t e = 0; e < std::min(honest.err0[i].size(), more.err0[i].size()); ++e) {
      // One that overflows takes no element out of the judgement.
      if (std::isfinite(more.err0[i][e])) keep_largest(more.err0[i][e], honest.err0[i][e]);
    }
  }
}

// Three executions of few elements scatter: those of other moved inputs are added before a small
// miss is a refusal.
Result<void> judge_in_doubt(Backend& backend, const TaskRef& task, const HonestReference& known,
                            const Storages& left, WholeProof& proof) {
  WholeProof judged = proof;
  if (auto done = judge_whole(*task, known, left, judged); !done) return done;
  HonestReference honest;
  for (int round = 1; round <= more_rounds; ++round) {
    if (!judged.refused || judged.worst >= doubtful) break;
    const auto more = honest_reference(backend, task, known.what, round);
    if (!more) return more.error();
    if (round == 1) honest = known;
    add_executions(honest, *more);
    judged = proof;
    if (auto done = judge_whole(*task, honest, left, judged); !done) return done;
  }
  proof = std::move(judged);
  return {};
}

// Adds what a further content shows; the first refusal stays.
void add(WholeProof& proof, WholeProof content) {
  if (!proof.refused) proof.refused = std::move(content.refused);
  proof.worst = std::max(proof.worst, content.worst);
  if (content.outputs > 0) proof.workload = std::move(content.workload);
  proof.outputs += content.outputs;
  if (!content.loose.empty()) proof.loose = std::move(content.loose);
}

// Runs the kernel on one content.
Result<void> prove_on(Backend& backend, ObservingDevice& device, const TaskRef& task,
                      const CompiledKernel& kernel, const Case& what, const HonestSource& source,
                      WholeProof& proof) {
  Storages left;
  const auto ran = device.observe(task, kernel, what, left);
  if (!ran) return ran.error();
  if (!ran->faults.empty()) {
    const Fault& fault = ran->faults.front();
    proof.refused = reject(fault.code, fault.message, fault.where);
    return {};
  }
  if (ran->not_for_this_shape || left.empty()) return {};
  if (source) {
    const auto known = source(what);
    return known ? judge_in_doubt(backend, task, **known, left, proof) : known.error();
  }
  const auto honest = honest_reference(backend, task, what);
  if (!honest) return honest.error();
  return judge_in_doubt(backend, task, *honest, left, proof);
}

}  // namespace

Result<HonestReference> honest_reference(Backend& backend, const TaskRef& task, const Case& what,
                                         int round) {
  HonestReference out;
  out.what = what;
  auto* device = dynamic_cast<ObservingDevice*>(&backend);
  if (device == nullptr) return out;
  if (reference_terms(*task, what.workload) > most_interpreted_terms)
    return too_dear(*task, what.workload);
  auto inputs = inputs_of(*task, what);
  if (!inputs) return inputs.error();
  out.inputs = std::move(*inputs);
  OneByOne graph(*device, *task);
  const bool strict = task->precision == Precision::fp32_strict;
  if (auto cut = strict ? Result<void>() : graph.cut(); !cut) return cut.error();
  const Executions executions = strict ? strict_executions(*device, task, what, out.inputs, round)
                                       : class_executions(graph, *task, what, out.inputs, round);
  SideBySide<Result<Storages>> running;  // those that add up in turn take one core each
  for (const Execution& one : executions.all) running.begin(one);
  auto values = backend.inspector().reference(task, what.workload, out.inputs);
  const std::vector<Result<Storages>> runs = running.take();
  if (!values) return values.error();
  out.want = std::move(*values);
  auto errors = honest_errors(*task, runs, executions.single, out.want);
  if (!errors) return errors.error();
  out.err0 = std::move(*errors);
  return out;
}

Result<void> judge_whole(const Task& task, const HonestReference& honest, const Storages& left,
                         WholeProof& proof) {
  for (std::size_t i = 0; i < honest.err0.size(); ++i) {
    if (auto judged = judge_output(task, honest, i, left, proof); !judged) return judged;
  }
  return {};
}

std::string sizes_of(const Workload& workload) {
  std::string out;
  for (const auto& [axis, size] : workload.sizes)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis, size);
  return out;
}

std::vector<Case> cases_of_the_whole(const Task& task, const KernelSource& source,
                                     const DeviceSpec& device, std::uint64_t seed) {
  const auto cases = battery(task, source, device, ProofLevel::candidate, seed, false);
  const std::optional<Workload> shape = shape_to_prove(task, cases);
  std::vector<Case> out;
  for (std::size_t i = 0; shape && i < contents.size(); ++i) {
    Case what;
    what.workload = *shape;
    what.content = {seed + 101 * (i + 1), contents[i]};
    out.push_back(std::move(what));
  }
  return out;
}

bool is_proved_as_a_whole(const Task& task) {
  return task.operations.size() > 1 && !task.reference.stages.empty() &&
         (task.precision == Precision::fp32_strict || is_executed_in_class(task)) &&
         std::any_of(task.tensors.begin(), task.tensors.end(), is_judged_by_rms);
}

Result<WholeProof> prove_whole(Backend& backend, const TaskRef& task, const CompiledKernel& kernel,
                               std::uint64_t seed, const HonestSource& honest) {
  WholeProof proof;
  auto* device = dynamic_cast<ObservingDevice*>(&backend);
  if (device == nullptr) {
    proof.unproved = "errors of the whole against honest executions: no virtual device ran them";
    return proof;
  }
  int judged = 0;  // contents
  using Shown = Result<WholeProof>;
  std::vector<std::function<Shown()>> proofs;
  for (const Case& what : cases_of_the_whole(task, kernel.source, backend.device(), seed)) {
    proofs.push_back([&, what]() -> Shown {
      WholeProof own;
      if (auto done = prove_on(backend, *device, task, kernel, what, honest, own); !done)
        return done.error();
      return own;
    });
  }
  // The first one refuses most of what any does, so that the others seldom run for nothing. A
  // source is asked by one thread.
  for (std::size_t begun = 0; begun < proofs.size() && !proof.refused;) {
    SideBySide<Shown> running;
    const std::size_t end = begun == 0 || honest ? begun + 1 : proofs.size();
    for (; begun < end; ++begun) running.begin(proofs[begun]);
    for (Shown& shown : running.take()) {
      if (!shown) return shown.error();
      judged += shown->outputs > 0 ? 1 : 0;
      add(proof, std::move(*shown));
    }
  }
  if (proof.refused) return proof;
  if (proof.outputs > 0)
    proof.proved = fmt::format(
        "the whole errs no more than honest executions of its operations, {} outputs on {} "
        "contents, {:.2g} of what they allow",
        proof.outputs, judged, proof.worst);
  else
    proof.unproved = "errors of the whole against honest executions: too few elements to tell";
  if (!proof.loose.empty() && proof.unproved.empty())
    proof.unproved = fmt::format(
        "values at other sizes than {}: the bound of the graph accepts zeros for {}, and honest "
        "executions were compared there alone",
        sizes_of(proof.workload), proof.loose);
  return proof;
}

}  // namespace cupilot
