// Hardware counters in a profile whose instructions and lines an interpreter knows.
#pragma once

#include <cupilot/parts/profile.hpp>
#include <cupilot/result.hpp>

#include "backend/cuda/trials.hpp"

namespace cupilot {

// Replaces the counts that the chip counted, launch by launch, and says who counted what; where
// nothing could be counted, why.
void add_counters(Profile& profile, const Attempt<CountedRun>& counted);

}  // namespace cupilot
