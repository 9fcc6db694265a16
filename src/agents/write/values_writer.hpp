// Writes for a space that a device or a host spans by itself: the "kernel" is the strategy, its
// values are the constants.
#pragma once

#include <memory>

#include <cupilot/parts/agents.hpp>

namespace cupilot {

// By technique, 1 where it is in use, and by "technique.parameter", a knob's fallback included.
Constants values_of(const Space& space, const Strategy& strategy);

// `space` must outlive it.
std::unique_ptr<KernelWriter> values_writer(const Space& space);

}  // namespace cupilot
