// The naive baseline as a plan: the launches of a reference's plain build, or of one in another
// order.
#pragma once

#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "task/reference/program.hpp"

namespace cupilot {

// One launch for each output, an element a thread, after those of the stages it reads. Entries are
// named as in `program`.
Result<ResolvedPlan> plain_plan(const Task& task, const Workload& workload,
                                const ReferenceProgram& program,
                                ReferenceBuild build = ReferenceBuild::plain);

}  // namespace cupilot
