// Workloads that reach the paths of a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/plan_requirements.hpp"
#include "kernel/plan_scope.hpp"
#include "verify/plan_steps.hpp"

namespace cupilot {

// A workload the plan accepts, as near to the wanted one as could be found: itself, or with sizes
// raised until every tensor has elements and every `require` holds. nullopt: none was found.
std::optional<Workload> fitting(const Task& task, const PlanRequirements& requirements,
                                const PlanSteps& steps, const Workload& wanted);

// An axis that is 1 in every shape that the task names: it may be built into the kernel as absent.
bool is_absent(const Task& task, const std::string& axis);

// Prices what a staged reference does for a shape in terms: those that it combines, and the numbers
// that it leaves. 0: it is one of text.
double reference_price(const Task& task, const Workload& workload);

// Prices running and judging a shape, every axis rounded up to its step: the terms that stages
// combine; for a reference of text the elements of the iteration space, or what it walks where that
// is more.
double padded_cost(const Task& task, const PlanSteps& steps, const Workload& workload);

// The product of a grid's or block's sides; those that need facts of compiling count as one.
double product_of(PlanScope& scope, const std::vector<Expr>& sides);

// Prices an interpreted run of a plan: what running and judging the shape costs or, where that is
// more, what the warps that the plan launches cost.
double run_cost(const Task& task, const KernelSource& source, const DeviceSpec& device,
                const PlanSteps& steps, const Workload& workload);

// Launches at full size whose bits are compared with the first one's: of a candidate, and of a
// finalist as many as fit into a second by the task's work.
inline constexpr int candidate_repeats = 2;
int finalist_repeats(const Task& task, const DeviceSpec& device, const Workload& shape);

// The purpose of a shape, most valuable first; docs/formats/numerics.md has the sizes.
enum class Boundary {
  whole_tiles,
  over_and_short,
  short_and_over,
  several_tiles,
  every_split,
  one_row,
  one_column,
  one,
  two,
  primes,
  many_tiles
};

// One shape a Boundary, in order; where an axis is fixed or absent some are equal.
std::vector<Workload> boundary_shapes(const Task& task, const PlanSteps& steps);

// Says that numbers and fixed axes make the smallest case of a proof large; "": they do not.
std::string large_at_the_least(const Task& task);

}  // namespace cupilot
