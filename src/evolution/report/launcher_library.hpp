// Writes the parts of a launcher that call libraries, where steps of its plan are theirs.
#pragma once

#include <string>

#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

// A table of the plan's steps of libraries and a function choose() that fills it; tables of memory
// come before them. "": the plan has no such step.
std::string launcher_library_text(const ResolvedPlan& plan);

}  // namespace cupilot
