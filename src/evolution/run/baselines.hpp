// The times that a search is compared with, taken before it begins.
#pragma once

#include <string>
#include <vector>

#include "evolution/evaluate/pipe.hpp"
#include "evolution/journal/records.hpp"

namespace cupilot {

// Times the task's reference, if `plain`, and the vendor library's kernel. `notices`: of the run,
// which stand before those of the timing.
Result<BaselinesRecord> time_baselines(const Pipe& pipe, bool plain,
                                       std::vector<std::string> notices);

}  // namespace cupilot
