// Content of edges, so that a part is searched on inputs like those that it will get.
#pragma once

#include <cupilot/backend.hpp>

#include "program/part_task.hpp"

namespace cupilot {

// Mean and deviation of each edge in the task's own reference at a small shape, to two digits, as a
// recipe: uniform where no value is negative, else normal. Edges that cannot be evaluated are left
// out.
EdgeFills edge_fills(const Task& task, Backend& backend);

}  // namespace cupilot
