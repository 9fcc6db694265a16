// Tells tasks whose reference looks for a largest or a least along an axis.
#pragma once

#include <cupilot/task.hpp>

namespace cupilot {

// True where the reference looks for the largest or the least along an axis.
bool seeks_extremes(const Task& task);

// True where an output is chosen, not computed: there an infinity alone on its line has one answer.
bool selects(const Task& task);

// True where an output is the largest or the least itself: of nothing but infinities it is one.
bool gives_extremes(const Task& task);

// True where an output may be chosen by its size: selects() or gives_extremes(), and the reference
// compares.
bool chooses_by_size(const Task& task);

}  // namespace cupilot
