// Between a run and the strategy pool: what is known before the first result, and what is kept of
// the last.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/pool.hpp>
#include <cupilot/parts/tunable.hpp>

namespace cupilot {

// The pool's advice on a task.
struct Recollection {
  std::vector<Strategy> strategies{};
  std::vector<StrategyBrief::Effect> effects{};
  ProvedKernel example{};  // the nearest entry's that has one
};

// Excludes entries of an experiment's own task and those with one of its tags.
struct PoolGuard {
  std::string task{};  // task_id; "": none
  std::vector<std::string> tags{};
};

// Best match first, each feasible in the space and none twice. `related`: families whose entries
// count besides those of the task's own. Error: the pool cannot be read.
Result<Recollection> remember(const Task& task, const DeviceSpec& device, const Space& space,
                              std::optional<Zone> zone, const StrategyPool& pool,
                              const PoolGuard& guard, const std::vector<std::string>& related = {});

// The kernel of another family's entry that has most operators in common with the task; empty:
// none has one.
Result<ProvedKernel> nearest_example(const Task& task, const DeviceSpec& device,
                                     const StrategyPool& pool, const PoolGuard& guard);

// Effects of each technique among a search's accepted kernels.
std::vector<StrategyBrief::Effect> effects_of(std::span<const Individual> all);

// The first few of a run's kernels, fastest first, that use different techniques. plain_us: the
// plain baseline's time.
std::vector<PoolEntry> lessons_of(const Task& task, const DeviceSpec& device, Provenance provenance,
                                  double plain_us, std::span<const Individual> fastest,
                                  const std::vector<std::string>& tags);
// Longest kernel and reference that the pool keeps as an example, in bytes.
inline constexpr std::size_t longest_example = 10000, longest_computes = 2400;
Result<void> keep_in_pool(const std::string& path, std::span<const PoolEntry> lessons);

// Names what a time depends on beside sizes and strategy. "": forecasts learn nothing of such a
// task.
std::string kind_of_times(const Task& task, const DeviceSpec& device, Provenance provenance);
// A run's kernels, fastest first, as later ones are to know them: the fastest last, so that it is
// the latest.
std::vector<PoolOutcome> outcomes_of(const Task& task, std::span<const Individual> fastest);
Result<void> keep_outcomes(const std::string& path, const std::string& kind,
                           std::span<const PoolOutcome> outcomes);
// make_cost_model with what earlier runs timed.
CostModel learnt_forecaster(const Task& task, const DeviceSpec& device,
                            const std::vector<Tunable>& tunables,
                            std::span<const PoolOutcome> learnt);
// Outcomes that a run learns from, at most.
inline constexpr int outcomes_learnt = 200;

}  // namespace cupilot
