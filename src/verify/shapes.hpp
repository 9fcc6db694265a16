// Workloads that reach the paths of a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "verify/plan_steps.hpp"

namespace cupilot {

// A workload the plan accepts, as near to the wanted one as could be found: itself, or with sizes rounded up until every
// `require` holds. nullopt: none was found.
std::optional<Workload> fitting(const Task& task, const KernelSource& source, const DeviceSpec& device, const PlanSteps& steps,
                                const Workload& wanted);

// Elements of the iteration space, every axis rounded up to its step, or what the reference walks where that is more: what
// running and judging the shape costs.
double padded_cost(const Task& task, const PlanSteps& steps, const Workload& workload);

// Shapes in the order of their worth: whole tiles, tile - 1, tile, tile + 1 in pairs, ends of the reduced axis before,
// at and after a slab and a full pipeline, several tiles, splits, single rows and columns.
std::vector<Workload> boundary_shapes(const Task& task, const PlanSteps& steps);

}  // namespace cupilot
