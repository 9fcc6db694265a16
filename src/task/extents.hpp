// Tells at which shapes all tensors of a task have sizes, and names their elements.
#pragma once

#include <cstdint>
#include <string>

#include <cupilot/task.hpp>

namespace cupilot {

// True if every tensor and every value on the way has elements there: a window may be larger than
// what it slides over.
bool has_sizes(const Task& task, const Workload& workload);

// "D[2][7]" for a linear index; the name alone below 0.
std::string element_name(const Task& task, const std::string& name, const Workload& workload,
                         std::int64_t index);

}  // namespace cupilot
