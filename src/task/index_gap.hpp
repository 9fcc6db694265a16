// Judges the index of an extreme of computed values by the distance of the value at the index that
// a kernel left from the extreme (docs/formats/numerics.md, "The other checks").
#pragma once

#include <cstddef>
#include <optional>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "task/content.hpp"

namespace cupilot {

// The task with one more output, its last tensor: for each element of output `output` the distance
// of the value at its index from the extreme. That output is an input, with what a kernel left.
// nullopt: the output is no index that an operator chose among values the task computes, its check
// is not `within`, or its place in a loop has no stage of its own.
std::optional<Task> index_gap_task(const Task& task, std::size_t output);

// Returns the bound that elements of the last tensor of such a task are held to.
Result<BoundParams> gap_bound(const Task& gaps, const Workload& workload, const Content& content);

}  // namespace cupilot
