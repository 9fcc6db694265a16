// The proof of a program's parts: its edges are outputs of the exposed task. Each is compared, and
// on a device that hands back what a kernel left, each part is judged on the inputs that it really
// got.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/verification.hpp>
#include <cupilot/rng.hpp>

#include "backend/observed.hpp"
#include "evolution/evaluate/screen.hpp"
#include "evolution/program/writer.hpp"
#include "kernel/library_step.hpp"
#include "program/step_values.hpp"
#include "task/content.hpp"
#include "task/index_gap.hpp"
#include "task/repeats.hpp"

namespace cupilot {
namespace {

using Storages = std::vector<std::vector<std::byte>>;  // one a tensor

// Names the program's tensor or edge that has a tensor's memory.
std::string memory_of(const PartTask& form, const std::string& own) {
  const auto place = form.places.find(own);
  return place == form.places.end() ? step_name(form.tensors.at(own)).base : place->second.root;
}

// Finds an element of a tensor in its storage.
std::size_t place_of(const TensorShape& shape, std::size_t element) {
  std::int64_t left = static_cast<std::int64_t>(element), at = 0;
  for (std::size_t d = shape.extents.size(); d-- > 0;) {
    at += left % shape.extents[d] * shape.strides[d];
    left /= shape.extents[d];
  }
  return static_cast<std::size_t>(at);
}

// The first part, in the order of launches, with an output that is wrong or was not written; else
// the one whose launch a fault names; else null.
const PartKernel* guilty(const std::vector<PartKernel>& parts, const TrialReport& report) {
  if (report.cases.empty()) return nullptr;
  const CaseReport& last = report.cases.back();
  for (const PartKernel& part : parts) {
    if (part.form.only_views) continue;
    for (const Tensor& tensor : part.form.task.tensors) {
      if (tensor.role != Role::out && tensor.role != Role::in_out) continue;
      const std::string name = memory_of(part.form, tensor.name);
      for (const OutputReport& output : last.outputs) {
        if (output.tensor == name && (output.failed > 0 || output.never_written > 0)) return &part;
      }
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // An entry has the part's prefix, an instance of a template its namespace.
    for (const std::string& prefix : {part_prefix(i), part_namespace(i) + "::"}) {
      for (const Fault& fault : last.faults) {
        if (fault.message.starts_with(prefix) || fault.where.starts_with(prefix)) return &parts[i];
      }
    }
  }
  return nullptr;
}

// " c=4 n=2"
std::string sizes_of(const Workload& workload) {
  std::string out;
  for (const auto& [axis, size] : workload.sizes) out += fmt::format(" {}={}", axis, size);
  return out;
}

// Judges one part on what it got in one run of the exposed program.
class PartJudge {
 public:
  PartJudge(Backend& backend, ObservingDevice& device, const Task& exposed, const Case& what,
            const Storages& left)
      : backend_(backend), device_(device), exposed_(exposed), what_(what), left_(left) {}

  // Judges it; a part of a repeat's body at the first, the second and a drawn step.
  Result<std::optional<Rejected>> judge(const PartKernel& part) {
    const Repeat* repeat = find_repeat(exposed_, part.form.repeat);
    if (repeat == nullptr) return judge_at(part, nullptr, 0);
    const auto count = fixed_count(exposed_, *repeat);
    if (!count)
      return Error{ErrorCode::usage, "repeat " + repeat->name + " has no fixed count", ""};
    const StepValues values(exposed_, *repeat, *count);
    Rng rng = Rng::of(what_.content.seed, "step", static_cast<std::uint64_t>(*count));
    std::set<std::int64_t> steps = {0, std::min<std::int64_t>(1, *count - 1), rng.below(*count)};
    for (const std::int64_t step : steps) {
      auto judged = judge_at(part, &values, step);
      if (!judged || *judged) return judged;
    }
    return std::optional<Rejected>();
  }

 private:
  Result<std::optional<Rejected>> judge_at(const PartKernel& part,
                                           const StepValues* values_of_steps, std::int64_t step) {
    steps_ = values_of_steps;
    step_ = step;
    const Task& task = part.form.task;
    Workload workload;
    for (const auto& [axis, extent] : part.form.axes) {
      const auto size = evaluate_or_error(extent, task_scope(exposed_, what_.workload));
      if (!size) return size.error();
      workload.sizes[axis] = *size;
    }
    Storages inputs(task.tensors.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (task.tensors[i].role == Role::out) continue;
      auto storage = task.tensors[i].role == Role::in_out
                         ? storage_before(part, task.tensors[i], workload)
                         : storage_of(part, task.tensors[i], workload);
      if (!storage) return storage.error();
      inputs[i] = std::move(*storage);
    }
    auto values = backend_.inspector().reference(TaskRef(task), workload, inputs);
    if (!values) return values.error();
    for (const ReferenceValues& want : *values) {
      auto refused = compare(part, workload, want, {});
      if (refused && *refused) {
        auto gaps = gaps_of(part, workload, want, inputs);
        if (!gaps) return gaps.error();
        if (*gaps) refused = compare(part, workload, want, {}, &**gaps);
      }
      if (refused && *refused && overflows(what_.content.kind)) {
        auto honest = device_.honest(TaskRef(task), workload, inputs, HonestOrder::blocks);
        if (!honest) return honest.error();
        if (!honest->empty()) refused = compare(part, workload, want, *honest);
      }
      if (!refused || *refused) return refused;
    }
    return std::optional<Rejected>();
  }

  // Distances of the values at a part's indices from the extremes, and their bound.
  struct Gaps {
    BoundParams bound;
    ReferenceValues values;
  };
  // nullopt: the output is no index of values that the part computes.
  Result<std::optional<Gaps>> gaps_of(const PartKernel& part, const Workload& workload,
                                      const ReferenceValues& want, const Storages& inputs) const {
    const Task& task = part.form.task;
    const Tensor* tensor = find_tensor(task, want.tensor);
    const auto at = static_cast<std::size_t>(tensor - task.tensors.data());
    auto made = tensor == nullptr ? std::nullopt : index_gap_task(task, at);
    if (!made) return std::optional<Gaps>();
    const TaskRef judging(std::move(*made));
    const auto bound = gap_bound(judging, workload, Content());
    if (!bound) return bound.error();
    Storages given = inputs;
    auto left = storage_of(part, *tensor, workload);
    if (!left) return left.error();
    given[at] = std::move(*left);
    given.emplace_back();
    auto values = backend_.inspector().reference(judging, workload, given);
    if (!values) return values.error();
    return std::optional(Gaps{*bound, std::move(values->back())});
  }

  // Returns what an in_out tensor held before the run, which wrote it.
  Result<std::vector<std::byte>> storage_before(const PartKernel& part, const Tensor& tensor,
                                                const Workload& workload) const {
    const std::string& value = part.form.tensors.at(tensor.name);
    const auto found = std::find_if(exposed_.tensors.begin(), exposed_.tensors.end(),
                                    [&](const Tensor& one) { return one.name == value; });
    if (found == exposed_.tensors.end() || found->role != Role::in_out)
      return storage_of(part, tensor, workload);
    const auto at = static_cast<std::size_t>(found - exposed_.tensors.begin());
    const auto params = fill_params(exposed_, at, what_.workload, what_.content);
    if (!params) return params.error();
    std::vector<std::byte> storage(static_cast<std::size_t>(params->span * size_of(found->type)));
    fill(*params, storage);
    return storage;
  }

  // Reads a part's tensor as the run left it; a value of a step stands at its place among all.
  Result<std::vector<std::byte>> storage_of(const PartKernel& part, const Tensor& tensor,
                                            const Workload& workload) const {
    std::string value = part.form.tensors.at(tensor.name);
    std::optional<Expr> place;
    const auto view = part.form.places.find(tensor.name);
    if (view != part.form.places.end()) value = view->second.root;
    if (steps_ != nullptr) {
      const auto lies = steps_->kept(value, step_);
      value = lies.whole;
      if (!lies.value.empty()) place = lies.place;
    }
    const auto found = std::find_if(exposed_.tensors.begin(), exposed_.tensors.end(),
                                    [&](const Tensor& one) { return one.name == value; });
    const auto& whole = left_[static_cast<std::size_t>(found - exposed_.tensors.begin())];
    const bool is_part = view != part.form.places.end();
    if (!place && !is_part) return whole;
    const auto shape = shape_of(part.form.task, tensor, workload);
    if (!shape) return shape.error();
    const auto at = evaluate_or_error(is_part ? view->second.offset : *place,
                                      task_scope(exposed_, what_.workload));
    if (!at) return at.error();
    const std::int64_t bytes = shape->span * size_of(tensor.type);
    const auto begin = whole.begin() + *at * (is_part ? size_of(tensor.type) : bytes);
    return std::vector<std::byte>(begin, begin + bytes);
  }

  // True if the contract's own type overflows at an element: what it leaves is not finite, or is
  // wrong too by at least an eighth of what the kernel errs, as where a variance was infinite.
  static bool fails_likewise(const BoundParams& bound, std::uint64_t bits, std::uint64_t honest,
                             double want, double sum) {
    const double left = decode(honest, bound.type);
    if (!is_finite(left)) return true;
    return std::isfinite(want) && !judge_element(bound, honest, want, sum).ok &&
           std::fabs(decode(bits, bound.type) - want) <= 8 * std::fabs(left - want);
  }

  // `honest`: what arithmetic of the contract's own type leaves; elements that overflow there are
  // let pass. Empty: unknown. `gaps`: lets indices pass that rounding may choose.
  Result<std::optional<Rejected>> compare(const PartKernel& part, const Workload& workload,
                                          const ReferenceValues& want, const Storages& honest,
                                          const Gaps* gaps = nullptr) const {
    const Task& task = part.form.task;
    const Tensor* tensor = find_tensor(task, want.tensor);
    if (tensor == nullptr || tensor->check.kind == CheckKind::index_of ||
        (!tensor->strides.empty() && !part.form.places.contains(tensor->name)))
      return std::optional<Rejected>();
    const auto shape = shape_of(task, *tensor, workload);
    if (!shape) return shape.error();
    const auto at = static_cast<std::size_t>(tensor - task.tensors.data());
    const auto bound = bound_params(task, at, workload, Content());
    if (!bound) return bound.error();
    const auto storage = storage_of(part, *tensor, workload);
    if (!storage) return storage.error();
    const auto* bytes = reinterpret_cast<const unsigned char*>(storage->data());
    const auto* excuses = honest.empty() || !is_float_type(static_cast<int>(tensor->type))
                              ? nullptr
                              : reinterpret_cast<const unsigned char*>(honest[at].data());
    std::size_t failed = 0, first = 0;
    const auto bits_at = [&](const unsigned char* from, std::size_t element) {
      return load_bits(from, static_cast<long long>(place_of(*shape, element)),
                       static_cast<int>(tensor->type));
    };
    for (std::size_t i = 0; i < want.values.size(); ++i) {
      const auto bits = bits_at(bytes, i);
      if (judge_element(*bound, bits, want.values[i], want.sums[i]).ok) continue;
      if (gaps != nullptr &&
          judge_element(gaps->bound, bits, gaps->values.values[i], gaps->values.sums[i]).ok)
        continue;
      if (excuses != nullptr &&
          fails_likewise(*bound, bits, bits_at(excuses, i), want.values[i], want.sums[i]))
        continue;
      if (failed++ == 0) first = i;
    }
    if (failed == 0) return std::optional<Rejected>();
    const auto bits = bits_at(bytes, first);
    return std::optional(reject(
        "verify.bound",
        fmt::format("part {}: {} of {} elements of {} are wrong on the inputs that it got, "
                    "{:.9g} instead of {:.9g}; shape{}, {} content, seed {}",
                    part.form.name, failed, want.values.size(), part.form.tensors.at(want.tensor),
                    decode(bits, bound->type), want.values[first], sizes_of(what_.workload),
                    name_of(what_.content.kind), what_.content.seed),
        fmt::format("{}[{}]", part.form.tensors.at(want.tensor), first)));
  }

  Backend& backend_;
  ObservingDevice& device_;
  const Task& exposed_;
  const Case& what_;
  const Storages& left_;
  const StepValues* steps_ = nullptr;  // of the body that the part belongs to
  std::int64_t step_ = 0;
};

// Runs the cases one by one and judges each part after each. `refused`: by a part's own inputs.
Result<TrialReport> observed(Backend& backend, ObservingDevice& device, const TaskRef& exposed,
                             const std::vector<PartKernel>& parts, const CompiledKernel& kernel,
                             const std::vector<Case>& cases, std::optional<Rejected>& refused) {
  TrialReport report;
  for (const Case& what : cases) {
    Storages left;
    auto ran = device.observe(exposed, kernel, what, left);
    if (!ran) return ran.error();
    const bool ended = ran->faults.empty() && !ran->not_for_this_shape && !left.empty();
    report.cases.push_back(std::move(*ran));
    if (!report.cases.back().faults.empty()) break;
    // There, the contract's own type may fail, or a part has no answer: the program as a whole is
    // judged with that in mind.
    const ContentKind kind = what.content.kind;
    if (kind == ContentKind::denormals || kind == ContentKind::scales ||
        kind == ContentKind::infinite_lines)
      continue;
    for (const PartKernel& part : parts) {
      if (!ended) break;
      if (part.form.only_views) continue;
      auto judged = PartJudge(backend, device, exposed, what, left).judge(part);
      if (!judged) return judged.error();
      if (*judged) {
        refused = std::move(*judged);
        return report;
      }
    }
  }
  return report;
}

}  // namespace

Result<std::optional<Rejected>> prove_exposed(Backend& backend, const TaskRef& exposed,
                                              const std::vector<PartKernel>& parts,
                                              const KernelSource& source, ProofLevel level,
                                              std::uint64_t seed) {
  const auto kernel = backend.compile(source);
  if (kernel.is_error()) return kernel.error();
  if (kernel.is_rejected()) {
    Rejected why = kernel.rejected();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (why.message.find(" " + part_prefix(i)) == std::string::npos) continue;
      why.message = fmt::format("part {}: {}", parts[i].form.name, why.message);
      break;
    }
    return std::optional(std::move(why));
  }
  const bool real = backend.provenance() == Provenance::measured;
  const std::vector<Case> cases = battery(exposed, source, backend.device(), level, seed, real);
  std::optional<Rejected> refused;
  auto* observing = dynamic_cast<ObservingDevice*>(&backend);
  const auto report = observing != nullptr
                          ? observed(backend, *observing, exposed, parts, *kernel, cases, refused)
                          : backend.run(exposed, *kernel, cases);
  if (!report) return report.error();
  if (refused) return refused;
  auto concluded = conclude(exposed, *kernel, level, *report);
  if (concluded.is_error()) return concluded.error();
  if (!concluded.is_rejected()) return std::optional<Rejected>();
  Rejected why = concluded.rejected();
  const PartKernel* part = guilty(parts, *report);
  why.message =
      fmt::format("part {}: {}", part == nullptr ? "unknown" : part->form.name, why.message);
  return std::optional(std::move(why));
}

std::set<std::string> handed_over(const std::vector<PartKernel>& parts) {
  std::set<std::string> names;
  for (const PartKernel& part : parts) {
    // A body carries the values that it handed on.
    for (const auto& [own, name] : part.form.tensors) names.insert(memory_of(part.form, own));
  }
  return names;
}

// Proves steps of a library as tasks of their own where the library runs.
static Result<std::optional<Rejected>> prove_steps(Backend& backend,
                                                   const std::vector<PartKernel>& parts,
                                                   ProofLevel level, std::uint64_t seed) {
  if (backend.provenance() != Provenance::measured) return std::optional<Rejected>();
  for (const PartKernel& part : parts) {
    if (!has_library_step(part.source.plan)) continue;
    auto refused =
        prove_exposed(backend, TaskRef(part.form.task), {part}, part.source, level, seed);
    if (!refused || *refused) return refused;
  }
  return std::optional<Rejected>();
}

Result<std::optional<Rejected>> prove_views(Backend& backend, const std::vector<PartKernel>& parts,
                                            ProofLevel level, std::uint64_t seed) {
  for (const PartKernel& part : parts) {
    const Task& task = part.form.task;
    const bool writes = std::any_of(task.tensors.begin(), task.tensors.end(), [](const auto& one) {
      return one.role == Role::out && !one.strides.empty();
    });
    if (part.form.only_views || !writes) continue;
    const PartKernel alone{whole_task(task), part.source};
    auto refused = prove_exposed(backend, TaskRef(task), {alone}, part.source, level, seed);
    if (!refused || *refused) return refused;
  }
  return std::optional<Rejected>();
}

Result<PartProof> ProgramWriter::prove_parts(const Pipe& pipe, const Strategy& strategy,
                                             ProofLevel level, std::uint64_t seed) {
  PartProof proof;
  if (level == ProofLevel::elite) return proof;
  const ProofLevel inner = level == ProofLevel::finalist ? ProofLevel::elite : level;
  // The virtual device sees each part's inputs; where there is none, or it cannot run the kernel,
  // the device itself.
  std::string by_itself;  // why the screen did not
  const auto is_refused = [&](const auto& by) -> Result<bool> {
    Backend& first = pipe.screen == nullptr ? *pipe.backend : *pipe.screen;
    auto refused = by(first);
    if (refused && *refused && pipe.screen != nullptr && beyond_the_screen(**refused)) {
      by_itself =
          fmt::format(": {} could not run them ({})", first.identity(), (*refused)->message);
      refused = by(*pipe.backend);
    }
    if (!refused) return refused.error();
    proof.refused = std::move(*refused);
    return proof.refused.has_value();
  };
  const auto parts = write_parts(strategy, &pipe.backend->device());
  if (parts.is_error()) return parts.error();
  if (parts.is_rejected()) return PartProof{parts.rejected(), ""};
  // A search has proved them when it timed them; the finalist's are proved anew.
  if (inner == ProofLevel::elite) {
    auto refused = prove_steps(*pipe.backend, *parts, inner, seed);
    if (!refused) return refused.error();
    if (*refused) return PartProof{std::move(*refused), ""};
  }
  if (parts->size() < 2) return proof;
  if (inner == ProofLevel::elite) {
    auto refused = is_refused([&](Backend& by) { return prove_views(by, *parts, inner, seed); });
    if (!refused) return refused.error();
    if (*refused) return proof;
  }
  auto exposed = exposed_task(task_, handed_over(*parts));
  if (!exposed) return exposed.error();
  const auto source = join_parts(*exposed, *parts);
  if (!source) return source.error();
  const TaskRef whole(std::move(*exposed));
  by_itself.clear();
  const auto refused = is_refused(
      [&](Backend& by) { return prove_exposed(by, whole, *parts, *source, inner, seed); });
  if (!refused) return refused.error();
  const bool screened = pipe.screen != nullptr && by_itself.empty();
  if (!*refused)
    proof.proved =
        fmt::format("each of {} parts is right on the inputs that it got, by {}{}", parts->size(),
                    (screened ? pipe.screen : pipe.backend)->identity(), by_itself);
  return proof;
}

}  // namespace cupilot
