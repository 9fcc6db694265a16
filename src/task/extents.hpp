// Tells at which shapes all tensors of a task have sizes.
#pragma once

#include <cupilot/task.hpp>

namespace cupilot {

// True if every tensor and every value on the way has elements there: a window may be larger than
// what it slides over.
bool has_sizes(const Task& task, const Workload& workload);

}  // namespace cupilot
