#include "backend/virtual/counts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <cupilot/parts/rejection.hpp>

#include "backend/virtual/extrapolate.hpp"
#include "backend/virtual/fitted_rereads.hpp"
#include "backend/virtual/parts_of_sums.hpp"
#include "backend/virtual/sampled.hpp"
#include "backend/virtual/shape.hpp"
#include "backend/virtual/timed.hpp"
#include "backend/virtual/traffic.hpp"
#include "ptx/machine/chain.hpp"
#include "task/host_judge.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t persistent_blocks =
    4;  // times the usual host bytes may be filled for a grid that does not grow
// Loads that the assembler issues together where the text waits for each, as when parts of a sum
// are added. Set on split sums of bf16 8192 x 8192 x 512 by warpgroups.
constexpr double moved_up = 4;

// True if a launch has as many more blocks at `workload` as there is more work than at `smaller`:
// those of a persistent grid do more each.
bool grows_with_work(const ResolvedLaunch& small, const Workload& smaller,
                     const ResolvedLaunch& launch, const Workload& workload) {
  double work = 1;
  for (const auto& [axis, extent] : workload.sizes)
    work *= static_cast<double>(extent) / static_cast<double>(smaller.sizes.at(axis));
  const double blocks =
      static_cast<double>(block_count(launch)) / static_cast<double>(block_count(small));
  return blocks > 0.75 * work;
}

// `workload` with twice as much of what `smaller` has less of.
Workload beyond(const Workload& smaller, Workload workload) {
  for (auto& [axis, extent] : workload.sizes) {
    if (smaller.sizes.at(axis) < extent) extent *= 2;
  }
  return workload;
}

// True if every timed launch has more blocks where there is more work; `grows`: of a launch.
template <class Grows>
bool all_grow(const ResolvedPlan& plan, const Grows& grows) {
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    if (plan.launches[l].when == When::run && !grows(l)) return false;
  }
  return true;
}

bool sets_up(const ResolvedPlan& plan) {
  return std::any_of(plan.launches.begin(), plan.launches.end(),
                     [](const auto& one) { return one.when == When::setup; });
}

bool runs_one_launch(const ResolvedPlan& plan) {
  return std::count_if(plan.launches.begin(), plan.launches.end(),
                       [](const auto& one) { return one.when == When::run; }) == 1;
}

// True if an output holds an input before the run.
bool in_place(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(),
                     [](const Tensor& one) { return one.role == Role::in_out; });
}

// Makes the memory that blocks are counted in: one that takes what they touch where it can be told
// in advance what inputs hold, else all of it, after the setup launches; nullopt: it does not fit.
Attempt<std::optional<VirtualMemory>> memory_to_count_in(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const ResolvedPlan& plan, const Case& what) {
  if (!sets_up(plan)) {
    Result<std::optional<VirtualMemory>> touched =
        VirtualMemory::sparse(task, what, plan, context.inputs, SmallInputs::whole);
    if (!touched) return touched.error();
    if (*touched) return std::move(*touched);
  }
  Result<VirtualMemory> memory = VirtualMemory::make(task, what, plan, context.inputs);
  if (!memory) return std::optional<VirtualMemory>();
  for (const ResolvedLaunch& launch : plan.launches) {
    if (launch.when != When::setup) continue;
    Attempt<ptx::Report> report = run_launch(context, kernel, programs, *memory, launch,
                                             {{}, 8 * counting_budget, 0, false, false});
    if (!report) return report.failure();
  }
  if (Result<void> filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
    return filled.error();
  return std::optional<VirtualMemory>(std::move(*memory));
}

// The plan that launches are counted in.
struct CountingPlan {
  Workload at;
  std::optional<ResolvedPlan> smaller;  // at that workload; nothing: it is the plan's own
  std::vector<bool> alike;              // of launches: blocks there are as those of the plan
};

CountingPlan counting_plan(const TaskRef& task, const CompiledKernel& kernel, const PlanAt& plan_at,
                           const ResolvedPlan& plan, const Workload& workload) {
  const CountingPlan whole{workload, {}, std::vector<bool>(plan.launches.size(), true)};
  const Workload smaller =
      counting_workload(task, plan_at, workload, residue_step(kernel.source.constants));
  const Attempt<Resolution> resolution = plan_at(smaller);
  const ResolvedPlan* small = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (small == nullptr || small->launches.size() != plan.launches.size()) return whole;
  // A grid that has its most blocks, or nearly, grows no more beyond the workload.
  const Workload more = beyond(smaller, workload);
  const Attempt<Resolution> larger = plan_at(more);
  const ResolvedPlan* large = larger ? std::get_if<ResolvedPlan>(&*larger) : nullptr;
  if (large != nullptr && large->launches.size() != plan.launches.size()) large = nullptr;
  const auto grows = [&](std::size_t l) {
    return grows_with_work(small->launches[l], smaller, plan.launches[l], workload) &&
           (large == nullptr ||
            grows_with_work(plan.launches[l], workload, large->launches[l], more));
  };
  // Blocks that stay tell of the whole only at full size.
  // There memory may be taken for what is touched alone, but not by setup launches.
  if (!all_grow(plan, grows) &&
      (!sets_up(plan) || host_bytes(task, plan_at, workload) <= persistent_blocks * counting_bytes))
    return whole;
  CountingPlan out{smaller, *small, {}};
  for (std::size_t l = 0; l < plan.launches.size(); ++l) out.alike.push_back(grows(l));
  return out;
}

// A launch with its input of the time model.
struct ModelledLaunch {
  ModelInput input;
  bool counted = false;
  bool too_long = false;  // a block passed the budget
  bool apart = false;   // blocks do not wait for one another, but samples do not stand for the grid
  RingRounds rounds{};  // of what was not counted
};

// Counts launches of a plan by sampled blocks.
struct LaunchCounter {
  const VirtualContext& context;
  const TaskRef& task;
  const CompiledKernel& kernel;
  KernelPrograms& programs;
  const Workload& full;  // whose counts are wanted
  const Workload& at;    // that the memory was made for
  const Content& content;
  VirtualMemory& memory;
  const ResolvedPlan &plan, &small_plan;  // at `full`, at `at`
  bool only;                              // it runs one launch
  std::uint64_t block_budget;             // warp instructions of a block

  // True if blocks load far more than the tensors hold.
  bool rereads(const Counts& counts) const {
    const auto least = compulsory_bytes(*task, full);
    return least &&
           32 * counts[Counter::global_load_sectors].value > 1.5 * static_cast<double>(*least);
  }

  // `small`: the launch at that workload.
  Attempt<ModelledLaunch> count(const ResolvedLaunch& small, const ResolvedLaunch& launch,
                                const EntryFacts& facts, const Dependence& seen, bool columns,
                                ModelInput input) const {
    ModelledLaunch into{std::move(input)};
    // True if each element of an output is written by one block of this launch.
    const bool by_one = only && !in_place(task) && !seen.sums;
    Result<Coverage> coverage = Coverage::of(task, at, memory);
    if (!coverage) return coverage.error();
    Attempt<Sampled> sampled =
        sample(context, kernel, programs, memory, small, launch.grid, columns,
               by_one && !columns && coverage->any() ? &*coverage : nullptr, block_budget);
    if (!sampled) return sampled.failure();
    if (only && sampled->silent)
      return reject("measure.timed_launch",
                    "no block that was counted wrote anything, nor did others drawn at random",
                    launch.name);
    if (sampled->bare)
      return reject("measure.timed_launch",
                    "its blocks leave a part of the outputs unwritten, as those drawn at random do",
                    launch.name);
    // A judge of the calling program's looks at whole runs.
    into.too_long = sampled->too_long;
    into.counted = !sampled->too_long && !sampled->unlike && !(only && sampled->idle) &&
                   !has_host_judge(*task);
    if (into.counted && by_one) {
      auto wrong = wrong_part(context, task, memory, at, content, Rng::of(2, kernel.ptx));
      if (!wrong) return wrong.error();
      if (*wrong && !columns) return std::move(**wrong);
      // Blocks of several columns may share an element after all: whole runs tell.
      into.counted = !*wrong;
    }
    into.apart = !into.counted && !(columns && sampled->too_long);
    if (!into.counted) return into;
    if (sampled->mixed) {
      const Attempt<bool> mixed =
          count_mixed(context, kernel, programs, memory, small, launch.grid, *sampled);
      if (!mixed) return mixed.failure();
    }
    const bool many = rereads(sampled->counts);
    const Result<bool> beyond =
        rereads_beyond_l2(context.device, *task, full, plan, launch, sampled->counts);
    if (!beyond) return beyond.error();
    if (many || *beyond) {
      const Attempt<SideBySide> seen = loads_side_by_side(context, kernel, programs, memory, small);
      if (!seen) return seen.failure();
      if (many) into.input.distinct_loads = seen->distinct_loads;
      const Result<double> read = readable_bytes(*task, at, small_plan, small);
      if (!read) return read.error();
      take_rereads(*seen, *read, static_cast<double>(block_count(small)), into.input);
    }
    into.input.counts = std::move(sampled->counts);
    into.input.stored_lines = sampled->stored_lines;
    into.input.last_block_requests = sampled->last_block_requests;
    price_as_busiest(into.input, context.device, sampled->uneven);
    put_chain(into.input, sampled->chain);
    add_spills(into.input, facts.spill_store_bytes + facts.spill_load_bytes);
    put_ring(into.input, sampled->chain, 1);
    return into;
  }

  // Counts the launch where no block can see another's work; else looks at the rounds of its rings.
  Attempt<ModelledLaunch> look(const ResolvedLaunch& small, const ResolvedLaunch& launch,
                               const EntryFacts& facts, const Dependence& seen,
                               ModelledLaunch as) const {
    const bool columns = seen.tickets && (launch.grid[1] > 1 || launch.grid[2] > 1);
    if (!launch.cooperative && !seen.waits && (!seen.tickets || columns))
      return count(small, launch, facts, seen, columns, std::move(as.input));
    if (!has_last_block(kernel, programs, launch) || !fits_at_once(as.input, context.device))
      return as;
    const Attempt<RingRounds> rounds = drawn_rounds(context, kernel, programs, memory, small);
    if (!rounds) return rounds.failure();
    as.rounds = *rounds;
    return as;
  }
};

// Takes the counts of launches that were not counted from runs of smaller ones.
Attempt<bool> put_fitted(const FittedPlan& of, std::vector<ModelledLaunch>& launches) {
  Attempt<std::vector<ExtrapolatedLaunch>> fitted = extrapolate(
      of.context, of.task, of.kernel, of.programs, of.plan_at, of.plan, of.workload, of.content);
  if (!fitted) return fitted.failure();
  std::size_t i = 0;
  for (std::size_t l = 0; l < of.plan.launches.size(); ++l) {
    if (of.plan.launches[l].when != When::run) continue;
    const ExtrapolatedLaunch& from = (*fitted)[i];
    ModelledLaunch& into = launches[i++];
    if (into.counted) continue;
    into.input.counts = from.counts;
    into.input.last_block_requests = from.last_requests;
    const auto blocks = static_cast<double>(into.input.blocks);
    const RingRounds& rounds = into.rounds;
    price_as_busiest(into.input, of.context.device,
                     rounds.mean > 0 ? rounds.most / rounds.mean : 1);
    const double busier = blocks / static_cast<double>(into.input.blocks);
    ptx::Chain chain = from.chain;
    chain.waits *= busier * from.waits_times / (into.apart ? 1 : moved_up);
    put_chain(into.input, chain);
    // Blocks that wait for others go round as long as they wait.
    put_ring(into.input, from.chain,
             rounds.mean > 0 ? rounds.most / from.chain.fills : from.chain_times);
    if (from.smallest.empty()) continue;
    const Attempt<bool> put = of.put_rereads(l, from.smallest, into.input);
    if (!put) return put.failure();
  }
  return true;
}

// too_long: a block passed its budget.
Attempt<std::vector<ModelledLaunch>> count_each(const VirtualContext& context, const TaskRef& task,
                                                const CompiledKernel& kernel,
                                                KernelPrograms& programs, const PlanAt& plan_at,
                                                const ResolvedPlan& plan, const Workload& workload,
                                                const Content& content, std::uint64_t block_budget,
                                                bool& too_long) {
  const CountingPlan counting = counting_plan(task, kernel, plan_at, plan, workload);
  const ResolvedPlan& small = counting.smaller ? *counting.smaller : plan;
  Attempt<std::optional<VirtualMemory>> memory = memory_to_count_in(
      context, task, kernel, programs, small, {.workload = counting.at, .content = content});
  if (!memory) return memory.failure();
  std::vector<ModelledLaunch> launches;
  bool missing = false;
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    const ResolvedLaunch& launch = plan.launches[l];
    if (launch.when != When::run) continue;
    launches.push_back({geometry(kernel, programs, launch)});
    const EntryFacts* facts = find_entry(kernel, launch.entry);
    const ptx::Function* entry = facts == nullptr ? nullptr : programs.module().entry(facts->name);
    if (entry == nullptr)
      return reject("gate.missing_entry", "the compiled kernel has no entry " + launch.entry);
    const Dependence seen = dependence_of(programs.module(), *entry);
    if (memory->has_value() && counting.alike[l]) {
      const LaunchCounter counter{context,
                                  task,
                                  kernel,
                                  programs,
                                  workload,
                                  counting.at,
                                  content,
                                  **memory,
                                  plan,
                                  small,
                                  runs_one_launch(plan),
                                  block_budget};
      Attempt<ModelledLaunch> done =
          counter.look(small.launches[l], launch, *facts, seen, std::move(launches.back()));
      if (!done) return done.failure();
      launches.back() = std::move(*done);
    }
    missing = missing || !launches.back().counted;
    too_long = too_long || launches.back().too_long;
  }
  if (missing) {
    const FittedPlan fitted{context, task, kernel, programs, plan_at, plan, workload, content};
    const Attempt<bool> put = put_fitted(fitted, launches);
    if (!put) return put.failure();
  }
  return launches;
}

}  // namespace

Attempt<std::vector<ModelInput>> count_launches(const VirtualContext& context, const TaskRef& task,
                                                const CompiledKernel& kernel,
                                                KernelPrograms& programs, const PlanAt& plan_at,
                                                const ResolvedPlan& plan, const Workload& workload,
                                                const Content& content) {
  bool too_long = false;
  const auto within = [&](std::uint64_t block_budget) {
    return count_each(context, task, kernel, programs, plan_at, plan, workload, content,
                      block_budget, too_long);
  };
  Attempt<std::vector<ModelledLaunch>> launches = within(2 * counting_budget);
  // A block that stays may be long where no smaller shape is affordable either.
  if (too_long && launches.is_rejected() && launches.rejected().code == "measure.failed") {
    auto longer = within(8 * counting_budget);
    if (longer || longer.is_error()) launches = std::move(longer);
  }
  if (!launches) return launches.failure();
  std::vector<ModelInput> inputs;
  for (ModelledLaunch& launch : *launches) inputs.push_back(std::move(launch.input));
  if (Result<void> estimated = estimate_traffic(context.device, task, workload, plan, inputs);
      !estimated) {
    return estimated.error();
  }
  for (const ResolvedBuffer& buffer : plan.buffers) {
    if (buffer.content == BufferContent::zeroed && buffer.bytes > 0)
      inputs.insert(inputs.begin(), clearing(buffer.bytes));
  }
  return inputs;
}

}  // namespace cupilot
