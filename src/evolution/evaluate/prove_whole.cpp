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
#include "task/content.hpp"
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
// to the next below. Zeros and what is not finite stay.
void move_inputs(const Task& task, Storages& inputs, std::uint64_t seed) {
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    const Tensor& tensor = task.tensors[t];
    const int type = static_cast<int>(tensor.type);
    if (tensor.role == Role::out || !is_float_type(type)) continue;
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

// Returns what an honest execution leaves, of inputs that are moved but for the first order; empty
// where it did not end.
Result<Storages> left_by(ObservingDevice& device, const TaskRef& task, const Case& what,
                         const Storages& inputs, HonestOrder order) {
  if (order == HonestOrder::blocks) return device.honest(task, what.workload, inputs, order);
  Storages moved = inputs;
  move_inputs(*task, moved, what.content.seed + static_cast<std::uint64_t>(order));
  return device.honest(task, what.workload, moved, order);
}

// Honest executions that run on threads of their own: those that add up in turn take one core each.
class HonestRuns {
 public:
  HonestRuns(ObservingDevice& device, const TaskRef& task, const Case& what,
             const Storages& inputs) {
    for (const HonestOrder order : orders)
      running_.push_back(std::async(std::launch::async, [&, order, stop = stop_flags()] {
        const StopScope stopped(stop);
        const PhaseLog log;
        Result<Storages> left = left_by(device, task, what, inputs, order);
        return std::pair(std::move(left), log.cpu());
      }));
  }
  // In the order of `orders`.
  std::vector<Result<Storages>> take() {
    std::vector<Result<Storages>> all;
    for (auto& one : running_) {
      auto [left, spent] = one.get();
      credit(spent);
      all.push_back(std::move(left));
    }
    return all;
  }

 private:
  std::vector<std::future<std::pair<Result<Storages>, CpuSpent>>> running_;
};

// The largest error of the honest executions, of each output element by element; empty where one
// did not end.
Result<std::vector<std::vector<double>>> honest_errors(const Task& task,
                                                       const std::vector<Result<Storages>>& runs,
                                                       const std::vector<ReferenceValues>& values) {
  std::vector<std::vector<double>> largest;
  for (const ReferenceValues& one : values) largest.emplace_back(one.values.size(), 0.0);
  for (const Result<Storages>& left : runs) {
    if (!left) return left.error();
    if (left->empty()) return std::vector<std::vector<double>>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t at = place_of(task, values[i].tensor);
      if (!is_judged_by_rms(task.tensors[at])) continue;
      const auto got = numbers_of(task.tensors[at], (*left)[at]);
      for (std::size_t e = 0; e < largest[i].size(); ++e) {
        const double error = std::fabs(got[e] - values[i].values[e]);
        if (!(error <= largest[i][e])) largest[i][e] = std::isnan(error) ? HUGE_VAL : error;
      }
    }
  }
  return largest;
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
    return known ? judge_whole(*task, **known, left, proof) : known.error();
  }
  const auto honest = honest_reference(backend, task, what);
  if (!honest) return honest.error();
  return judge_whole(*task, *honest, left, proof);
}

}  // namespace

Result<HonestReference> honest_reference(Backend& backend, const TaskRef& task, const Case& what) {
  HonestReference out;
  out.what = what;
  auto* device = dynamic_cast<ObservingDevice*>(&backend);
  if (device == nullptr) return out;
  auto inputs = inputs_of(*task, what);
  if (!inputs) return inputs.error();
  out.inputs = std::move(*inputs);
  HonestRuns running(*device, task, what, out.inputs);
  auto values = backend.inspector().reference(task, what.workload, out.inputs);
  const std::vector<Result<Storages>> runs = running.take();
  if (!values) return values.error();
  out.want = std::move(*values);
  auto errors = honest_errors(*task, runs, out.want);
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
  return task.operations.size() > 1 && task.precision == Precision::fp32_strict &&
         !task.reference.stages.empty() &&
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
  for (const Case& what : cases_of_the_whole(task, kernel.source, backend.device(), seed)) {
    if (auto done = prove_on(backend, *device, task, kernel, what, honest, proof); !done)
      return done.error();
    if (proof.refused) return proof;
  }
  if (proof.outputs > 0)
    proof.proved = fmt::format(
        "the whole errs no more than honest executions of its operations, {} outputs on {} "
        "contents, {:.2g} of what they allow",
        proof.outputs, contents.size(), proof.worst);
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
