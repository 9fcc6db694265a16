// A small program around a generated dispatcher.
#pragma once

#include <string>

#include <cupilot/task.hpp>

namespace cupilot {

// Launches the dispatcher `name` for sizes from the command line and prints the median time, warm.
std::string dispatcher_main(const Task& task, const std::string& name);

}  // namespace cupilot
