// The strategies that a search of one tunable starts with.
#pragma once

#include "agents/propose/tunable_context.hpp"

namespace cupilot {

// Moves the fallbacks of the skeleton's knobs to where tiles fit the output and every SM has a
// block, as far as what always holds can bring it about.
void choose_starts(const TunableContext& context, Skeleton& skeleton);

}  // namespace cupilot
