// The computation of a task in the words of a prompt.
#pragma once

#include <string>

#include <cupilot/task.hpp>

namespace cupilot {

// A reference text as it stands; of a graph its operators with shapes and attributes, then what
// each of its sums, maxima and scans runs over; of a user's stages all of them.
std::string reference_text(const Task& task);

}  // namespace cupilot
