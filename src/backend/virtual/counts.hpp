// Counts of a plan's launches at full size, from sampled blocks of the very launches or from
// smaller runs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/rng.hpp>
#include <cupilot/verdict.hpp>

#include "backend/virtual/extrapolate.hpp"
#include "backend/virtual/run.hpp"

namespace cupilot {

// Warp instructions that counting one kernel may take, about; what does not fit is counted at
// smaller sizes.
inline constexpr std::uint64_t counting_budget = 6'000'000;

// The run launches of `plan` (plan_at(workload), of `kernel`) as the time model takes them, in
// order; zeroed buffers count as launches that store them. How a launch's counts were had:
//   exact         every block ran
//   sampled       blocks of each place in the grid (interior, last in x, y, z) or spread over a
//   grid of one dimension, or one drawn from each of equal stretches where those do not stand for
//   it; only
//                 when no block can see another's work: not cooperative, no flags or tickets.
//                 Tickets are taken to be drawn by blocks that differ in the grid's last side alone
//                 (split-K), and such a column is run whole.
//   extrapolated  exact whole runs at smaller workloads that keep residues modulo the strategy's
//   numbers, fitted in products of
//                 the axes' extents and blocks, or at one on a device of fewer SMs; a run is held
//                 out, its residual is the interval
// Rejected when a sampled block faults, or {measure.timed_launch} when what was counted is wrong: a
// whole run's outputs, of sampled blocks a few of the elements that they wrote (where one launch
// makes them, each by one block); or when what they and others drawn at random write is too little
// for the grid to write all of the outputs. Blocks that write nothing, or less work than another
// block drawn at random has, do not stand for the grid.
Attempt<std::vector<ModelInput>> count_launches(const VirtualContext& context, const TaskRef& task,
                                                const CompiledKernel& kernel,
                                                KernelPrograms& programs, const PlanAt& plan_at,
                                                const ResolvedPlan& plan, const Workload& workload,
                                                const Content& content);

// Host bytes that counting may fill, about.
inline constexpr std::int64_t counting_bytes = 96ll << 20;

// Host bytes that counting at a workload fills: what outputs and buffers hold, and what is known of
// each byte. -1: the plan is not for it.
std::int64_t host_bytes(const Task& task, const PlanAt& plan_at, const Workload& at);

// Free axes whose units a kernel repeats whole, such as a batch: at one, two and three of them, the
// other free axes at a step, every timed launch has as many times more blocks. staying: some do,
// and the others' grids do not change; or each unit has operands of its own, whatever the grids.
enum class Repeating { growing, staying };
std::set<std::string> repeated_axes(const Task& task, const PlanAt& plan_at,
                                    const Workload& workload, std::int64_t step,
                                    Repeating which = Repeating::growing);

// `workload`, its longest free axes halved (residues modulo `step` kept) until the plan's tensors
// and buffers take at most counting_bytes: a block's work does not depend on how many there are.
// Never fewer than two steps a side; where that is too much still, repeated axes down to two units.
Workload counting_workload(const Task& task, const PlanAt& plan_at, const Workload& workload,
                           std::int64_t step);

// Tells if blocks of the entry could see one another's work: a returning atomic on global memory, a
// flag read with acquire, volatile or relaxed order. `waits`: some may wait for others, so that not
// even a column can be run alone. `sums`: elements may be summed by several blocks, in memory.
struct Dependence {
  bool tickets = false;
  bool waits = false;
  bool sums = false;
  bool draws = false;    // reads the result of an atomic
  bool gathers = false;  // sums, or atomics whose results nobody reads
  bool adds = false;     // additions among these
};
Dependence dependence_of(const ptx::Module& module, const ptx::Function& entry);
// Returns that of a launch's entry; nullopt: the launch is cooperative, or its entry unknown.
std::optional<Dependence> dependence_of(const CompiledKernel& kernel,
                                        const KernelPrograms& programs,
                                        const ResolvedLaunch& launch);

// Which blocks to run and how often they stand in the grid. `columns`: all along the grid's last
// side longer than one (z, else y) together.
struct Sample {
  std::vector<std::uint64_t> blocks;  // linear, ascending
  double weight = 1;                  // copies of the whole sample in the grid
};
std::vector<Sample> choose_samples(const std::array<std::int64_t, 3>& grid, bool columns);
// One more, anywhere, that stands for nothing: a kernel that knows the places above and leaves
// their work to others is seen.
Sample witness_of(const std::array<std::int64_t, 3>& grid, bool columns, Rng rng);

}  // namespace cupilot
