// The blocks of a launch, spread over host threads where nothing can tell. Internal.
#pragma once

#include <vector>

#include "ptx/machine/machine.hpp"

namespace cupilot::ptx {

// Runs the blocks that the launch's options name, from memory as it stands. What comes of it does
// not depend on the number of threads: blocks that turn out to touch each other's global memory, to
// fault or to pass the budget run again on one.
std::vector<Worker> run_blocks(LaunchContext& context);

}  // namespace cupilot::ptx
