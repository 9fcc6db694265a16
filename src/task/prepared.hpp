// Operations of a graph that can run once, before whatever is timed: they depend on constant
// tensors alone (docs/programs.md, Constants).
#pragma once

#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

// One entry an operation: true where every input is a constant tensor or a result of such an
// operation, and every output an edge.
std::vector<bool> prepared_operations(const Task& task);

}  // namespace cupilot
