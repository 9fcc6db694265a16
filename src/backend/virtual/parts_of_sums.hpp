// Kernels that cut sums into parts, of which the block that arrives last adds up those of all.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/virtual/extrapolate.hpp"

namespace cupilot {

// True if blocks of a launch take tickets and none waits for another.
bool has_last_block(const CompiledKernel& kernel, const KernelPrograms& programs,
                    const ResolvedLaunch& launch);
// True if a run launch of the plan is such.
bool any_last_block(const CompiledKernel& kernel, const KernelPrograms& programs,
                    const ResolvedPlan& plan);

// Moves the extents of reduced axes by steps until the plan's grids and buffers grow evenly between
// them and up to the full extent: a short sum has fewer parts than the whole one, or others of
// another length. An axis stays as it is where none do.
void keep_parts(const Task& task, const PlanAt& plan_at, const Workload& workload,
                std::int64_t step, std::vector<AxisPair>& axes);

// Returns what the last block of each run launch loads after all others have run beyond what it
// loads alone, in requests; 0: no launch leaves it anything, or a run does not end well.
Attempt<std::vector<double>> last_requests(const VirtualContext& context, const TaskRef& task,
                                           const CompiledKernel& kernel, KernelPrograms& programs,
                                           const PlanAt& plan_at, const Workload& workload,
                                           const Content& content);

}  // namespace cupilot
