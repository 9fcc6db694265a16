// Blocks of the grid of a shape that is too large to be run whole: the first, the last and drawn
// ones, on memory that holds nothing but what they touch.
#pragma once

#include "backend/virtual/run.hpp"

namespace cupilot {

// Runs them with every access checked and compares what they wrote. False: nothing is told, since
// the plan has several launches, its blocks depend on each other, or a block takes too long.
Result<bool> run_sampled(const PlanRun& run, const Case& what, CaseReport& report);

}  // namespace cupilot
