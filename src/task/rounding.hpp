// Tells whether inputs are rounded on their way to the arithmetic.
#pragma once

#include <cupilot/task.hpp>

namespace cupilot {

// True where the task's class rounds or splits an input that is stored wider.
bool rounds_inputs(const Task& task);

}  // namespace cupilot
