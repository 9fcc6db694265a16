#include "backend/virtual_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <cupilot/rejection.hpp>

#include "backend/virtual_extrapolate.hpp"
#include "backend/virtual_shape.hpp"
#include "backend/virtual_timed.hpp"
#include "backend/virtual_traffic.hpp"
#include "ptx/chain.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t staying_blocks = 4;  // times the usual host bytes may be filled for a grid that does not grow
// Loads that the assembler issues together where the text waits for each, as when parts of a sum are added. Set on split sums of
// gemm_wgmma at bf16 8192 x 8192 x 512.
constexpr double moved_up = 4;

std::uint64_t block_count(const ResolvedLaunch& launch) {
  return static_cast<std::uint64_t>(launch.grid[0] * launch.grid[1] * launch.grid[2]);
}

// What `asked` blocks counted: the interpreter scales a part of a grid up to the whole, and runs the clusters of those asked for.
Counts of_blocks(const ptx::Report& report, std::uint64_t asked, std::uint64_t blocks) {
  Counts counts = report.counts;
  const double share = static_cast<double>(asked) / static_cast<double>(blocks);
  for (Count& count : counts.all) count = {count.value * share, count.low * share, count.high * share, count.how};
  return counts;
}

// The share of blocks that may be unlike those sampled at the middle and the end of each side: the other end's. Along a grid of
// one dimension, whose order the kernel may have changed, any.
double unlike_share(const std::array<std::int64_t, 3>& grid, bool columns) {
  const std::size_t deep = grid[2] > 1 ? 2 : 1;
  double alike = 1;
  int sides = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (grid[i] == 1 || (columns && i == deep)) continue;
    ++sides;
    alike *= std::max(0.0, 1 - 2 / static_cast<double>(grid[i]));
  }
  return sides <= 1 ? 1 : 1 - alike;
}

// Sum of samples' counts, each times its weight. The interval reaches as far towards the least and the most of a sample as
// blocks (a share of all) may differ, and at least one part in the root of their number, for what no sample met: an edge of the
// tiles. Samples that were not run are counted as the first, and widen it.
Counts weighted(const std::vector<Counts>& ran, const std::vector<Sample>& samples, double share) {
  Counts sum;
  sum.rung = "virtual";
  double missing = 0, total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    total += samples[i].weight;
    if (i >= ran.size()) missing += samples[i].weight;
  }
  for (std::size_t c = 0; c < counter_count; ++c) {
    double value = 0, least = ran[0].all[c].value, most = least;
    for (std::size_t i = 0; i < ran.size(); ++i) {
      const double one = ran[i].all[c].value;
      value += one * (samples[i].weight + (i == 0 ? missing : 0));
      least = std::min(least, one);
      most = std::max(most, one);
    }
    const double slack = std::min(1.0, missing / total + share);
    if (least == most) value = std::round(total) * least;
    const double unmet = share > 0 ? value / std::sqrt(total) : 0;
    const double below = std::max(unmet, slack * (value - least * std::round(total))),
                 above = std::max(unmet, slack * (most * std::round(total) - value));
    sum.all[c] = {value, value - below, value + above, CountHow::sampled};
  }
  return sum;
}

// Samples of a smaller grid standing for those of the full one: at the same places where both grids have them.
std::vector<Sample> rescaled(std::vector<Sample> samples, const std::array<std::int64_t, 3>& grid,
                             const std::array<std::int64_t, 3>& full, bool columns) {
  if (grid == full) return samples;
  const std::vector<Sample> whole = choose_samples(full, columns);
  const double ratio = static_cast<double>(full[0] * full[1] * full[2]) / static_cast<double>(grid[0] * grid[1] * grid[2]);
  bool alike = whole.size() == samples.size();
  for (std::size_t i = 0; alike && i < samples.size(); ++i) alike = whole[i].blocks.size() == samples[i].blocks.size();
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].weight = alike ? whole[i].weight : samples[i].weight * ratio;
  return samples;
}

// Instructions of the block that has most over the mean of all.
double unevenness(const std::vector<Counts>& ran, const std::vector<Sample>& samples) {
  double sum = 0, weights = 0, most = 0;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    const auto blocks = static_cast<double>(samples[i].blocks.size());
    const double one = ran[i][Counter::warp_instructions].value / blocks;
    sum += one * blocks * samples[i].weight;
    weights += blocks * samples[i].weight;
    most = std::max(most, one);
  }
  return sum > 0 ? most * weights / sum : 1;
}

// What a sampled launch was seen to do.
struct Sampled {
  bool too_long = false;
  bool idle = false;    // a sample stored nothing
  bool silent = false;  // nor did any other, nor blocks drawn from all of the grid
  bool unlike = false;  // another block has more work than any sample
  Counts counts;
  ptx::Chain chain;                // of the sample with the longest
  double uneven = 1;               // instructions of the sample's block that has most over the mean
  double last_block_requests = 0;  // global load requests of a column's last block beyond those of its others
};

// One launch, some blocks of it at a time.
class BlockRunner {
 public:
  BlockRunner(const VirtualContext& context, const CompiledKernel& kernel, KernelPrograms& programs, VirtualMemory& memory,
              const ResolvedLaunch& launch)
      : context_(context), kernel_(kernel), programs_(programs), memory_(memory), launch_(launch) {}

  // nullopt: past the budget.
  Attempt<std::optional<Counts>> run(std::vector<std::uint64_t> blocks) {
    LaunchRun how;
    const std::uint64_t asked = blocks.size();
    how.blocks = std::move(blocks);
    how.budget = 2 * counting_budget;
    how.checks = false;
    how.count = true;
    Attempt<ptx::Report> report = run_launch(context_, kernel_, programs_, memory_, launch_, how);
    if (report.is_error()) return report.error();
    if (report.is_rejected()) return report.rejected();
    if (!report->faults.empty()) {
      if (report->faults[0].code == "run.hang") return std::optional<Counts>();
      return ptx::rejection_of(*report);
    }
    spent_ += report->warp_instructions;
    add(chain_, chain_of_launch(kernel_, programs_, launch_, *report), static_cast<double>(asked));
    chained_ += static_cast<double>(asked);
    return std::optional<Counts>(of_blocks(*report, asked, block_count(launch_)));
  }
  std::uint64_t spent() const { return spent_; }
  // Of the blocks run since it was asked last, the mean.
  ptx::Chain take_chain() {
    ptx::Chain mean;
    add(mean, std::exchange(chain_, {}), 1 / std::max(1.0, std::exchange(chained_, 0)));
    return mean;
  }

 private:
  const VirtualContext& context_;
  const CompiledKernel& kernel_;
  KernelPrograms& programs_;
  VirtualMemory& memory_;
  const ResolvedLaunch& launch_;
  std::uint64_t spent_ = 0;
  ptx::Chain chain_;
  double chained_ = 0;
};

// A column runs in order, its last block apart: that one finds all others arrived and does what is left to the last.
Attempt<std::optional<Counts>> run_column(BlockRunner& runner, std::vector<std::uint64_t> blocks, double& last_requests) {
  const std::uint64_t last = blocks.back();
  const double others = static_cast<double>(blocks.size() - 1);
  blocks.pop_back();
  Attempt<std::optional<Counts>> first = runner.run(std::move(blocks));
  if (!first || !*first) return first;
  Attempt<std::optional<Counts>> end = runner.run({last});
  if (!end || !*end) return end;
  const auto requests = [](const Counts& counts) { return counts[Counter::global_load_requests].value; };
  last_requests = std::max(last_requests, requests(**end) - requests(**first) / others);
  Counts both = **first;
  add_counts(both, **end);
  return std::optional<Counts>(std::move(both));
}

// What tells whether samples may stand for the grid.
double work_of(const Counts& counts, const Sample& sample) {
  return counts[Counter::warp_instructions].value / static_cast<double>(sample.blocks.size());
}
bool stores(const Counts& counts) {
  return counts[Counter::global_store_requests].value > 0 || counts[Counter::atomic_requests].value > 0;
}

// Whether a block drawn at random has more work than all samples.
Attempt<bool> outdone(BlockRunner& runner, const std::vector<Counts>& ran, const std::vector<Sample>& samples,
                      const Sample& witness) {
  constexpr double beyond_chance = 1.1;
  double most = 0;
  for (std::size_t i = 0; i < ran.size(); ++i) most = std::max(most, work_of(ran[i], samples[i]));
  Attempt<std::optional<Counts>> counts = runner.run(witness.blocks);
  if (counts.is_error()) return counts.error();
  if (counts.is_rejected()) return counts.rejected();
  return !*counts || work_of(**counts, witness) > beyond_chance * most;
}

// Whether one of many blocks drawn at random stores anything.
Attempt<bool> some_store(BlockRunner& runner, const std::array<std::int64_t, 3>& grid, const Rng& rng) {
  constexpr std::uint64_t drawn = 16;
  for (std::uint64_t i = 0; i < drawn; ++i) {
    Attempt<std::optional<Counts>> counts = runner.run(witness_of(grid, false, rng.fork(i)).blocks);
    if (counts.is_error()) return counts.error();
    if (counts.is_rejected()) return counts.rejected();
    if (!*counts || stores(**counts)) return true;
  }
  return false;
}

// Runs the launch's samples as far as the budget reaches; the first is always run, within all of it.
Attempt<Sampled> sample(const VirtualContext& context, const CompiledKernel& kernel, KernelPrograms& programs,
                        VirtualMemory& memory, const ResolvedLaunch& launch, const std::array<std::int64_t, 3>& full,
                        bool columns) {
  const std::vector<Sample> samples = rescaled(choose_samples(launch.grid, columns), launch.grid, full, columns);
  BlockRunner runner(context, kernel, programs, memory, launch);
  Sampled seen;
  std::vector<Counts> ran;
  for (const Sample& one : samples) {
    if (!ran.empty() && runner.spent() + runner.spent() / ran.size() > counting_budget) break;
    const bool column = columns && one.blocks.size() > 1;
    Attempt<std::optional<Counts>> counts =
        column ? run_column(runner, one.blocks, seen.last_block_requests) : runner.run(one.blocks);
    if (counts.is_error()) return counts.error();
    if (counts.is_rejected()) return counts.rejected();
    if (!*counts) {
      seen.too_long = true;
      return seen;
    }
    ran.push_back(std::move(**counts));
    keep_longest(seen.chain, runner.take_chain());
  }
  seen.idle = !std::all_of(ran.begin(), ran.end(), stores);
  if (seen.idle && std::none_of(ran.begin(), ran.end(), stores)) {
    const Attempt<bool> some = some_store(runner, launch.grid, Rng::of(3, kernel.ptx));
    if (some.is_error()) return some.error();
    if (some.is_rejected()) return some.rejected();
    seen.silent = !*some;
  }
  seen.uneven = unevenness(ran, samples);
  const bool whole = ran.size() == samples.size() &&
                     std::all_of(samples.begin(), samples.end(), [](const Sample& one) { return one.weight == 1; });
  seen.counts = weighted(ran, samples, whole ? 0 : unlike_share(full, columns));
  if (!whole) {
    const Attempt<bool> other = outdone(runner, ran, samples, witness_of(launch.grid, columns, Rng::of(1, kernel.ptx)));
    if (other.is_error()) return other.error();
    if (other.is_rejected()) return other.rejected();
    seen.unlike = *other;
  }
  Count& blocks = seen.counts[Counter::blocks];
  blocks.value = blocks.low = blocks.high = static_cast<double>(full[0] * full[1] * full[2]);
  blocks.how = CountHow::exact;
  if (whole) {
    for (Count& count : seen.counts.all) count.how = CountHow::exact;
  }
  return seen;
}

// Whether a launch has as many more blocks at `workload` as there is more work than at `smaller`: those of a persistent grid do
// more each.
bool grows_with_work(const ResolvedLaunch& small, const Workload& smaller, const ResolvedLaunch& launch,
                     const Workload& workload) {
  double work = 1;
  for (const auto& [axis, extent] : workload.sizes)
    work *= static_cast<double>(extent) / static_cast<double>(smaller.sizes.at(axis));
  const double blocks = static_cast<double>(block_count(launch)) / static_cast<double>(block_count(small));
  return blocks > 0.75 * work;
}

// Whether every timed launch has more blocks where there is more work.
bool all_grow(const ResolvedPlan& small, const Workload& smaller, const ResolvedPlan& plan, const Workload& workload) {
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    const bool timed = plan.launches[l].when == When::run;
    if (timed && !grows_with_work(small.launches[l], smaller, plan.launches[l], workload)) return false;
  }
  return true;
}

bool runs_one_launch(const ResolvedPlan& plan) {
  return std::count_if(plan.launches.begin(), plan.launches.end(), [](const auto& one) { return one.when == When::run; }) == 1;
}

// Whether an output holds an input before the run.
bool in_place(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& one) { return one.role == Role::in_out; });
}

}  // namespace

Attempt<std::vector<ModelInput>> count_launches(const VirtualContext& context, const IdentifiedTask& task,
                                                const CompiledKernel& kernel, KernelPrograms& programs, const PlanAt& plan_at,
                                                const ResolvedPlan& plan, const Workload& workload, const Content& content) {
  const Workload smaller = counting_workload(task.task, plan_at, workload, residue_step(kernel.source.constants));
  const Attempt<Resolution> resolution = plan_at(smaller);
  const ResolvedPlan* small = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (small == nullptr || small->launches.size() != plan.launches.size()) small = &plan;
  // Blocks that stay tell of the whole only at full size.
  if (small != &plan && !all_grow(*small, smaller, plan, workload) &&
      host_bytes(task.task, plan_at, workload) <= staying_blocks * counting_bytes)
    small = &plan;
  const Workload& at = small == &plan ? workload : smaller;
  std::vector<ModelInput> inputs;
  std::vector<bool> counted, apart;  // apart: sampled, but the samples do not stand for the grid
  Result<VirtualMemory> memory =
      VirtualMemory::make(task.task, task.id, {.workload = at, .content = content}, *small, context.inputs);
  const bool fits = static_cast<bool>(memory);
  if (fits) {
    for (const ResolvedLaunch& launch : small->launches) {
      if (launch.when != When::setup) continue;
      Attempt<ptx::Report> report =
          run_launch(context, kernel, programs, *memory, launch, {{}, 8 * counting_budget, 0, false, false});
      if (report.is_error()) return report.error();
      if (report.is_rejected()) return report.rejected();
    }
    if (Result<void> filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled) return filled.error();
  }
  bool missing = false;
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    const ResolvedLaunch& launch = plan.launches[l];
    if (launch.when != When::run) continue;
    inputs.push_back(geometry(kernel, programs, launch));
    counted.push_back(false);
    apart.push_back(false);
    const EntryFacts* facts = find_entry(kernel, launch.entry);
    const ptx::Function* entry = facts == nullptr ? nullptr : programs.module().entry(facts->name);
    if (entry == nullptr) return reject("gate.missing_entry", "the compiled kernel has no entry " + launch.entry);
    const Dependence seen = dependence_of(programs.module(), *entry);
    const bool columns = seen.tickets && (launch.grid[1] > 1 || launch.grid[2] > 1);
    const bool alike = small == &plan || grows_with_work(small->launches[l], smaller, launch, workload);
    if (fits && alike && !launch.cooperative && !seen.waits && (!seen.tickets || columns)) {
      Attempt<Sampled> sampled = sample(context, kernel, programs, *memory, small->launches[l], launch.grid, columns);
      if (sampled.is_error()) return sampled.error();
      if (sampled.is_rejected()) return sampled.rejected();
      const bool only = runs_one_launch(plan);
      if (only && sampled->silent)
        return reject("measure.timed_launch", "no block that was counted wrote anything, nor did others drawn at random",
                      launch.name);
      counted.back() = !sampled->too_long && !sampled->unlike && !(only && sampled->idle);
      if (counted.back() && only && !in_place(task.task) && !seen.sums) {
        auto wrong = wrong_part(context, task, *memory, at, content, Rng::of(2, kernel.ptx));
        if (!wrong) return wrong.error();
        if (*wrong && !columns) return std::move(**wrong);
        // Blocks of several columns may share an element after all: whole runs tell.
        counted.back() = !*wrong;
      }
      apart.back() = !counted.back() && !sampled->too_long;
      if (counted.back()) {
        inputs.back().counts = std::move(sampled->counts);
        inputs.back().last_block_requests = sampled->last_block_requests;
        price_as_busiest(inputs.back(), context.device, sampled->uneven);
        put_chain(inputs.back(), sampled->chain);
        add_spills(inputs.back(), facts->spill_store_bytes + facts->spill_load_bytes);
        put_ring(inputs.back(), sampled->chain, 1);
      }
    }
    missing = missing || !counted.back();
  }
  if (missing) {
    Attempt<std::vector<ExtrapolatedLaunch>> fitted =
        extrapolate(context, task, kernel, programs, plan_at, plan, workload, content);
    if (fitted.is_error()) return fitted.error();
    if (fitted.is_rejected()) return fitted.rejected();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (counted[i]) continue;
      ExtrapolatedLaunch& launch = (*fitted)[i];
      inputs[i].counts = launch.counts;
      ptx::Chain chain = launch.chain;
      chain.waits *= launch.chain_times / (apart[i] ? 1 : moved_up);
      put_chain(inputs[i], chain);
      put_ring(inputs[i], launch.chain, launch.chain_times);  // blocks that wait for others go round as long as they wait
    }
  }
  if (Result<void> estimated = estimate_traffic(context.device, task.task, workload, plan, inputs); !estimated) {
    return estimated.error();
  }
  for (const ResolvedBuffer& buffer : plan.buffers) {
    if (buffer.content == BufferContent::zeroed && buffer.bytes > 0) inputs.insert(inputs.begin(), clearing(buffer.bytes));
  }
  return inputs;
}

}  // namespace cupilot
