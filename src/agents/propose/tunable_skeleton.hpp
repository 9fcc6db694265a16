// Adds one template to a strategy space: its own techniques, its knobs, and its restrictions as
// predicates.
#pragma once

#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "strategy/build_space.hpp"

namespace cupilot {

// Rows for what the tunable names and `known` lacks. Knobs without a technique belong to one named
// like the tunable.
std::vector<Technique> own_techniques(const Tunable& tunable, const std::vector<Technique>& known);

// A technique is optional when each of its parameters is plain at the smallest value of its domain:
// that value means "off" and leaves the domain. Otherwise plain is one setting among others, and
// the technique always holds.
Skeleton tunable_skeleton(const Tunable& tunable, const TaskRef& task, const DeviceSpec& device,
                          const std::vector<Technique>& techniques);

}  // namespace cupilot
