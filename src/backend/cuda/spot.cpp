#include "backend/cuda/spot.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <future>
#include <random>
#include <span>
#include <thread>

#include <fmt/core.h>
#include <cupilot/rng.hpp>

#include "backend/cuda/trials.hpp"
#include "backend/oracle/memory.hpp"
#include "backend/oracle/piecewise_input.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "ptx/machine/execute.hpp"
#include "task/content.hpp"
#include "task/host_judge.hpp"
#include "task/index_gap.hpp"
#include "task/reference/stage_plan.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t runs_kept = 16, run_length = 8, elements_looked_at = 64;
constexpr std::int64_t most_input_bytes = 512ll << 20;
constexpr std::int64_t worth_a_thread = 4 << 20;        // bytes of inputs
constexpr std::uint64_t most_instructions = 4'000'000;  // warp instructions a run
// Warp instructions of all runs together, where the terms of a run can be told beforehand, and the
// fewest that a term takes.
constexpr double most_of_all = 8e6, least_of_a_term = 25, warp_lanes = 32;

std::uint64_t drawn_secret() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

template <class T>
void add_word(std::vector<std::uint8_t>& bytes, T value) {
  static_assert(sizeof(T) == 8);
  const std::size_t at = bytes.size();
  bytes.resize(at + 8);
  std::memcpy(bytes.data() + at, &value, 8);
}

// The tracked entry's parameters, and the buffers it writes.
struct Bench {
  ptx::DeviceMemory memory{virtual_memory_cap};
  std::vector<std::uint8_t> parameters;
  std::size_t values = 0, sums = 0;
};

// An input of which only what is read is made, where its layout allows.
Result<std::uint64_t> add_read_part(ptx::DeviceMemory& memory, const TaskRef& task,
                                    std::size_t tensor, const Case& what, VirtualInputs& inputs) {
  const std::string& name = task->tensors[tensor].name;
  auto params = fill_params(task, tensor, what.workload, what.content);
  if (!params) return params.error();
  auto pieces = PiecewiseInput::of(*params);
  if (params->elements == 0 || !pieces) {
    auto bytes = inputs.get(task, tensor, what.workload, what.content);
    if (!bytes) return bytes.error();
    return add_input(memory, name, **bytes);
  }
  const std::int64_t size = size_of(task->tensors[tensor].type);
  const auto make = [pieces = std::move(*pieces), size](std::uint64_t offset,
                                                        std::span<std::uint8_t> chunk) {
    pieces.make(static_cast<std::int64_t>(offset) / size, std::as_writable_bytes(chunk));
  };
  auto added = memory.add_later(name, static_cast<std::uint64_t>(params->span * size), make);
  if (!added) return added.error();
  return memory.address(*added);
}

// `stages`: that the entry may be given, and is not: it looks at few elements.
Result<void> set_up(Bench& bench, const TaskRef& task, const Case& what, VirtualInputs& inputs,
                    std::size_t stages, std::span<const std::int64_t> runs, std::int64_t elements,
                    const LeftTensor* left) {
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (!is_input(task->tensors[i])) continue;
    auto address = left != nullptr && left->tensor == i
                       ? add_input(bench.memory, task->tensors[i].name, left->bytes)
                       : add_read_part(bench.memory, task, i, what, inputs);
    if (!address) return address.error();
    add_word(bench.parameters, *address);
  }
  for (const Scalar& scalar : task->scalars) add_word(bench.parameters, scalar.value);
  for (const Axis& axis : task->axes) {
    const auto size = what.workload.sizes.find(axis.name);
    add_word(bench.parameters, size == what.workload.sizes.end() ? std::int64_t{1} : size->second);
  }
  for (std::size_t i = 0; i < stages; ++i) add_word(bench.parameters, std::uint64_t{0});
  for (std::size_t* buffer : {&bench.values, &bench.sums}) {
    auto added = bench.memory.add("reference", static_cast<std::uint64_t>(elements) * 8,
                                  ptx::Access::read_write);
    if (!added) return added.error();
    *buffer = *added;
    add_word(bench.parameters, bench.memory.address(*added));
  }
  auto begins = add_input(bench.memory, "runs", std::as_bytes(runs));
  if (!begins) return begins.error();
  add_word(bench.parameters, *begins);
  add_word(bench.parameters, run_length);
  add_word(bench.parameters, elements);
  return {};
}

std::int64_t input_bytes(const Task& task, const Workload& workload) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : task.tensors) {
    if (!is_input(tensor)) continue;
    const auto shape = shape_of(task, tensor, workload);
    if (shape) bytes += shape->span * size_of(tensor.type);
  }
  return bytes;
}

// Evenly chosen ones of the runs, as many as the work allows: an element of few long folds is
// expensive.
std::vector<std::int64_t> affordable(const std::vector<std::int64_t>& runs, double terms) {
  const double each = std::max(1.0, terms * least_of_a_term);
  const auto count = static_cast<std::size_t>(
      std::clamp(most_of_all / each, 0.0, static_cast<double>(runs.size())));
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(runs[i * runs.size() / count]);
  return chosen;
}

// Elements of all runs; the last run ends with the output.
std::int64_t elements_of(std::span<const std::int64_t> runs, std::int64_t elements) {
  return run_length * static_cast<std::int64_t>(runs.size()) -
         std::max<std::int64_t>(runs.back() + run_length - elements, 0);
}

std::vector<std::int64_t> indices_of(std::span<const std::int64_t> runs, std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t at = 0; at < count; ++at)
    indices.push_back(runs[static_cast<std::size_t>(at / run_length)] + at % run_length);
  return indices;
}

}  // namespace

bool same_reference(double ours, double theirs, double sum) {
  if (std::isnan(ours) || std::isnan(theirs)) return std::isnan(ours) == std::isnan(theirs);
  if (ours == theirs) return true;
  const double size =
      std::max({std::abs(ours), std::abs(theirs), std::isfinite(sum) ? std::abs(sum) : 0.0});
  return std::isfinite(size) && std::abs(ours - theirs) <= 0x1p-36 * size;
}

SpotCheck::SpotCheck(CompilePool& pool, std::string arch)
    : inputs_(1ll << 30),
      oracle_(pool, std::move(arch), inputs_, 1 << 20),
      kept_(64 << 20),
      secret_(drawn_secret()) {}

std::vector<std::size_t> SpotCheck::draw(const SpotValues& values) {
  std::vector<std::size_t> all(values.indices.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  Rng rng = Rng::of(secret_, "look", draws_++);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::swap(
        all[i],
        all[i + static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(all.size() - i)))]);
  }
  all.resize(std::min<std::size_t>(all.size(), elements_looked_at));
  return all;
}

Result<std::shared_ptr<const SpotValues>> SpotCheck::values(const TaskRef& task, std::size_t tensor,
                                                            const Case& what,
                                                            const std::vector<std::int64_t>& begins,
                                                            std::int64_t slice) {
  const auto shape = shape_of(task, task->tensors[tensor], what.workload);
  if (!shape) return shape.error();
  const std::string key = fmt::format("{}:{}:{}:{}", tensor, begins.size(), slice,
                                      case_key(task.id(), what.workload, what.content));
  const auto make = [&]() -> Result<SpotValues> {
    const DeviceWork interpreting;
    if (shape->elements == 0 || begins.empty() ||
        input_bytes(task, what.workload) > most_input_bytes)
      return SpotValues{};
    Rng rng = Rng::of(secret_, key);
    std::vector<std::int64_t> runs;
    for (std::int64_t i = 0; i < runs_kept; ++i) {
      const std::int64_t begin =
          begins[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(begins.size())))];
      const std::int64_t held = std::min(slice, shape->elements - begin);
      runs.push_back(begin + rng.below(std::max<std::int64_t>(held - run_length, 0) + 1));
    }
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    return evaluate(task, tensor, what, std::move(runs), shape->elements);
  };
  return kept_.get(key, make, [](const SpotValues& made) {
    return static_cast<std::int64_t>(made.values.size() * 24 + 64);
  });
}

Result<SpotValues> SpotCheck::evaluate(const TaskRef& task, std::size_t tensor, const Case& what,
                                       std::vector<std::int64_t> runs, std::int64_t elements) {
  auto reference = oracle_.reference(task, ReferenceBuild::tracked);
  if (!reference) return reference.error();
  const auto& entries = (*reference)->program.entries;
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) {
    return e.tensor == task->tensors[tensor].name;
  });
  if (entry == entries.end())
    return Error{ErrorCode::usage, "no reference of " + task->tensors[tensor].name, ""};
  const auto plan = stage_plan(*task, (*reference)->program, ReferenceBuild::tracked, what.workload,
                               entry->tensor, 1, false);
  if (!plan) return plan.error();
  const auto direct = affordable(runs, plan->terms);
  if (direct.empty()) return evaluate_stored(task, tensor, what, runs, elements);
  runs = direct;
  // Runs share nothing; one takes some milliseconds where the sums are long.
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t threads =
      input_bytes(task, what.workload) < worth_a_thread ? 1 : std::min(cores, runs.size());
  std::vector<CpuSpent> spent(threads);
  std::vector<std::future<Result<SpotValues>>> shares;
  for (std::size_t t = 0; t < threads; ++t) {
    const auto share = std::span(runs).subspan(
        runs.size() * t / threads, runs.size() * (t + 1) / threads - runs.size() * t / threads);
    const auto evaluate_share = [&, share, stop = stop_flags()] {
      const StopScope stopped(stop);
      return evaluate_runs(**reference, entry->entry, task, what, share, elements);
    };
    if (threads == 1) return evaluate_share();
    shares.push_back(std::async(std::launch::async, [&, evaluate_share, t] {
      Result<SpotValues> found = SpotValues{};
      spent[t] = helping_as_device([&] { found = evaluate_share(); });
      return found;
    }));
  }
  for (const auto& share : shares) share.wait();
  for (const CpuSpent& one : spent) credit(one);
  SpotValues all;
  bool whole = true;
  for (auto& share : shares) {
    auto part = share.get();
    if (!part) return part.error();
    whole = whole && !part->indices.empty();
    all.indices.insert(all.indices.end(), part->indices.begin(), part->indices.end());
    all.values.insert(all.values.end(), part->values.begin(), part->values.end());
    all.sums.insert(all.sums.end(), part->sums.begin(), part->sums.end());
  }
  return whole ? all : SpotValues{};
}

Result<SpotValues> SpotCheck::evaluate_stored(const TaskRef& task, std::size_t tensor,
                                              const Case& what,
                                              const std::vector<std::int64_t>& runs,
                                              std::int64_t elements) {
  const std::int64_t count = elements_of(runs, elements);
  auto reference = oracle_.reference(task, ReferenceBuild::tracked);
  if (!reference) return reference.error();
  const auto plan = stage_plan(task, (*reference)->program, ReferenceBuild::tracked, what.workload,
                               task->tensors[tensor].name, count);
  if (!plan) return plan.error();
  if (plan->terms * least_of_a_term > most_of_all * warp_lanes) return SpotValues{};
  ptx::DeviceMemory memory(virtual_memory_cap);
  std::vector<std::uint64_t> addresses(task->tensors.size());
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (!is_input(task->tensors[i])) continue;
    auto address = add_read_part(memory, task, i, what, inputs_);
    if (!address) return address.error();
    addresses[i] = *address;
  }
  auto numbers = oracle_.at(task, tensor, what.workload, memory, addresses,
                            {runs, run_length, count}, most_instructions);
  if (!numbers) return numbers.error();
  if (!*numbers) return SpotValues{};
  SpotValues found{indices_of(runs, count), std::move((*numbers)->values),
                   std::move((*numbers)->sums)};
  return found;
}

Result<SpotValues> SpotCheck::evaluate_runs(const ReferenceModule& reference,
                                            const std::string& entry, const TaskRef& task,
                                            const Case& what, std::span<const std::int64_t> runs,
                                            std::int64_t elements, const LeftTensor* left) {
  auto program = ptx::make_program(reference.module, entry);
  if (!program) return SpotValues{};  // an instruction that the interpreter lacks
  const std::int64_t count = elements_of(runs, elements);
  Bench bench;
  if (auto ready =
          set_up(bench, task, what, inputs_, reference.program.stages.size(), runs, count, left);
      !ready)
    return ready.error();
  ptx::ExecuteOptions options;
  options.instruction_budget = most_instructions * runs.size();
  options.check_races = options.check_initialised = options.count = false;
  options.stop = stop_flags();
  ptx::Launch launch;
  launch.grid.y = static_cast<std::uint32_t>(runs.size());
  launch.block.x = static_cast<std::uint32_t>(run_length);
  launch.parameters = bench.parameters;
  auto report = ptx::execute(**program, bench.memory, launch, options);
  if (report.is_error()) return report.error();
  if (report.is_rejected() || !report->faults.empty())
    return SpotValues{};  // dearer than it is worth here
  SpotValues found{.indices = indices_of(runs, count), .values = {}, .sums = {}};
  for (std::int64_t at = 0; at < count; ++at) {
    for (const auto& [buffer, into] :
         {std::pair(bench.values, &found.values), std::pair(bench.sums, &found.sums)}) {
      double value = 0;
      std::memcpy(&value, bench.memory.data(buffer).data() + at * 8, 8);
      into->push_back(value);
    }
  }
  return found;
}

Result<SpotValues> SpotCheck::gaps(const TaskRef& gaps, std::size_t tensor, const Case& what,
                                   std::span<const std::int64_t> indices,
                                   std::span<const std::uint64_t> bits) {
  const DeviceWork interpreting;
  const auto layout = fill_params(gaps, tensor, what.workload, what.content);
  if (!layout) return layout.error();
  auto reference = oracle_.reference(gaps, ReferenceBuild::tracked);
  if (!reference) return reference.error();
  const std::string& output = gaps->tensors.back().name;
  const auto& entries = (*reference)->program.entries;
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& one) { return one.tensor == output; });
  const auto plan = stage_plan(*gaps, (*reference)->program, ReferenceBuild::tracked, what.workload,
                               output, 1, false);
  if (!plan) return plan.error();
  const std::int64_t bytes = layout->span * size_of(gaps->tensors[tensor].type);
  if (entry == entries.end() || bytes > most_input_bytes) return SpotValues{};
  LeftTensor left{tensor, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
  for (std::size_t i = 0; i < indices.size(); ++i)
    store_bits(left.bytes.data(), storage_offset(*layout, indices[i]), layout->type, bits[i]);
  SpotValues found;
  for (const std::int64_t index :
       affordable({indices.begin(), indices.end()}, plan->terms * run_length)) {
    const std::int64_t begin =
        std::max<std::int64_t>(0, std::min<std::int64_t>(index, layout->elements - run_length));
    auto run =
        evaluate_runs(**reference, entry->entry, gaps, what, {&begin, 1}, layout->elements, &left);
    if (!run) return run.error();
    if (run->values.empty()) return SpotValues{};
    const auto at = static_cast<std::size_t>(index - begin);
    found.indices.push_back(index);
    found.values.push_back(run->values.at(at));
    found.sums.push_back(run->sums.at(at));
  }
  return found;
}

void CudaTrials::foresee(const TaskRef& task, std::span<const Case> cases) {
  const Phase phase("own reference");
  const DeviceWork interpreting;
  const auto compute = [&](const Case& what) {
    for (std::size_t i = 0; i < task->tensors.size(); ++i) {
      if (!is_output(task->tensors[i])) continue;
      const auto shape = shape_of(task, task->tensors[i], what.workload);
      if (!shape) continue;
      const Slices slices = slices_of(task, what, i, shape->elements);
      (void)spot_.values(task, i, what, slices.begins, slices.slice);
    }
  };
  std::atomic<std::size_t> next = 0;
  const auto work = [&, stop = stop_flags()] {
    const StopScope stopped(stop);
    for (std::size_t i = next++; i < cases.size(); i = next++) compute(cases[i]);
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<CpuSpent> spent(std::min(cases.size(), cores));
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < spent.size(); ++i)
      helpers.emplace_back([&, i] { spent[i] = helping_as_device(work); });
    work();
  }
  for (const CpuSpent& one : spent) credit(one);
}

namespace {

// Orders the reading of an output's elements from its kept reference values: from the first slice
// that holds them.
ReadOrder read_order(const Region& region, const FillParams& layout, const OracleOrder& oracle,
                     const SpotValues& known, const std::vector<std::size_t>& drawn) {
  ReadOrder order{region, layout, oracle.key, {}, {}};
  for (const std::size_t at : drawn) {
    const std::int64_t index = known.indices[at];
    const auto slice = std::find_if(
        oracle.begins.begin(), oracle.begins.end(),
        [&](std::int64_t begin) { return index >= begin && index < begin + oracle.slice; });
    order.indices.push_back(index);
    order.places.push_back((slice - oracle.begins.begin()) * oracle.slice + index - *slice);
  }
  return order;
}

}  // namespace

Result<void> CudaTrials::look_at(const Trial& trial, std::size_t tensor, std::size_t output,
                                 CaseReport& report) {
  const OracleOrder& oracle = trial.oracles.at(output);
  auto known = [&] {
    const Phase phase("own reference", PhaseCpu::of_phase_around);
    return spot_.values(trial.task, tensor, trial.what, oracle.begins, oracle.slice);
  }();
  if (!known) return known.error();
  if ((*known)->indices.empty()) return {};
  auto bound = bound_params(trial.task, tensor, trial.what.workload, trial.what.content);
  if (!bound) return bound.error();
  std::vector<std::size_t> drawn = spot_.draw(**known);
  const IndexLook indices{gap_task_of(trial.task, tensor), tensor, trial.what};
  const ReadOrder order = read_order(trial.placement.tensors[tensor],
                                     trial.placement.layouts[tensor], oracle, **known, drawn);
  orders_.later(DeviceMessage::read, pack(order),
                [this, &report, output, known = *known, bound = *bound, drawn = std::move(drawn),
                 indices](const std::string& payload) {
                  return compare(payload, *known, bound, drawn, output, report, indices);
                });
  return {};
}

// Compares the judge's readings of an output with the controller's values.
Result<void> CudaTrials::compare(const std::string& payload, const SpotValues& known,
                                 const BoundParams& bound, const std::vector<std::size_t>& drawn,
                                 std::size_t output, CaseReport& report, const IndexLook& indices) {
  const OutputReport& said = report.outputs.at(output);
  const auto answer = unpack_read_answer(payload);
  const std::size_t count = drawn.size();
  if (!answer || answer->bits.size() != count || answer->values.size() != count ||
      answer->sums.size() != count)
    return Error{ErrorCode::failure, "the judge gave an answer that fits no look", ""};
  const bool called_right =
      said.failed == 0 && said.never_written == 0 && bound.check != check_index_of;
  std::vector<std::int64_t> others;  // indices that are not the reference's, and what stands there
  std::vector<std::uint64_t> left;
  for (std::size_t j = 0; j < count; ++j) {
    const double want = known.values[drawn[j]], sum = known.sums[drawn[j]];
    const std::int64_t index = known.indices[drawn[j]];
    if (!same_reference(want, answer->values[j], sum))
      return device_.distrust(
          fmt::format("the judge says the reference of {}[{}] is {}, the controller computes {}",
                      said.tensor, index, answer->values[j], want));
    const Judged judged = judge_element(bound, answer->bits[j], want, sum);
    if (!called_right || judged.ok || judged.ratio <= 1.001) continue;
    if (indices.gaps == nullptr)
      return device_.distrust(fmt::format(
          "the judge calls {} right, but element {} holds {} where the controller computes {}",
          said.tensor, index, decode(answer->bits[j], bound.type), want));
    others.push_back(index);
    left.push_back(answer->bits[j]);
  }
  report.recomputed += static_cast<std::int64_t>(count - others.size());
  if (others.empty()) return {};
  const auto looked = look_at_indices(indices, others, left, said);
  if (!looked) return looked.error();
  report.recomputed += *looked;
  return {};
}

Result<std::int64_t> CudaTrials::look_at_indices(const IndexLook& indices,
                                                 std::span<const std::int64_t> others,
                                                 std::span<const std::uint64_t> left,
                                                 const OutputReport& said) {
  const auto bound = gap_bound(*indices.gaps, indices.what.workload, indices.what.content);
  if (!bound) return bound.error();
  const auto found = spot_.gaps(*indices.gaps, indices.tensor, indices.what, others, left);
  if (!found) return found.error();
  for (std::size_t i = 0; i < found->indices.size(); ++i) {
    const Judged judged = judge_element(*bound, 0, found->values[i], found->sums[i]);
    if (!judged.ok && judged.ratio > 1.001)
      return device_.distrust(fmt::format(
          "the judge calls {} right, but the value at the index in element {} is {} from the "
          "extreme, by the controller's reference",
          said.tensor, found->indices[i], found->values[i]));
  }
  return static_cast<std::int64_t>(found->indices.size());
}

Result<void> CudaTrials::look(const Trial& trial, CaseReport& report) {
  std::size_t o = 0;
  for (std::size_t i = 0; i < trial.task->tensors.size(); ++i) {
    if (!is_output(trial.task->tensors[i])) continue;
    const std::size_t output = o++;
    if (is_judged_by_host(trial.task->tensors[i])) continue;
    if (auto looked = look_at(trial, i, output, report); !looked) return looked;
  }
  return {};
}

}  // namespace cupilot
