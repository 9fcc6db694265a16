// Floors below the one of the task's text.
#pragma once

#include <cupilot/verdict.hpp>

namespace cupilot {

// floor_us() where tensors that are updated in place are read or written alone: a mask may leave
// elements as they are.
Result<double> floor_beside_updates_us(const Task& task, const Workload& workload,
                                       const DeviceSpec& device, Precision proved);

}  // namespace cupilot
