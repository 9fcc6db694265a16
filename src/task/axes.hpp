// Relates a task's axes to its tensors.
#pragma once

#include <string>

#include <cupilot/task.hpp>

namespace cupilot {

// True if an extent depends on the axis.
bool names_axis(const Expr& extent, const std::string& axis);

// A free axis that no output has: elements along it are looked up, as rows of a table or pixels of
// a resize are, and how many of them is not said.
bool is_looked_up(const Task& task, const std::string& axis);

}  // namespace cupilot
