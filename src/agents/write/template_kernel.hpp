// A kernel of one template at given constants.
#pragma once

#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/strategy.hpp>

namespace cupilot {

// Error names an include of "cupilot/…" that does not exist.
Result<KernelSource> template_kernel(const Tunable& tunable, const Task& task,
                                     const Strategy& strategy, const Constants& constants);

}  // namespace cupilot
