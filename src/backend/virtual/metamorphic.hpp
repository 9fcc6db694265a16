// Runs of one kernel against each other: the same bits again, and outputs that follow a change of
// the inputs.
#pragma once

#include "backend/virtual/run.hpp"

namespace cupilot {

bool is_relation(Variation variation);

// Runs `what.repeats` times more; fills repeat_differs of every output and repeats_done.
Result<void> repeat(const PlanRun& run, VirtualMemory& memory, const Case& what,
                    CaseReport& report);

// Runs the plain content too, where the reference obeys the case's relation exactly; fills
// relation_differs and `related`.
Result<void> relate(const PlanRun& run, VirtualMemory& memory, const Case& what,
                    CaseReport& report);

}  // namespace cupilot
