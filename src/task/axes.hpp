// Relates a task's axes to its tensors.
#pragma once

#include <string>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "task/rules/apply.hpp"

namespace cupilot {

// True if an extent depends on the axis.
bool names_axis(const Expr& extent, const std::string& axis);

// Composes the task's operations; `equal` gets what has to be equal for it. Error usage: a rule
// takes no names where the operation has them, whose inputs are `equal.inputs`.
Result<void> compose_equal(const Task& task, Equalities& equal);

// Makes axes of the numbers in a graph's shapes: of each dimension that no rule needs as a number;
// dimensions that must be equal share one. `task` has neither axes nor edges yet; `numbered` is the
// same one completed. Returns false, and leaves the task as it was, where all numbers must stay.
bool give_axes(Task& task, const Task& numbered);

// A free axis that no output has: elements along it are looked up, as rows of a table or pixels of
// a resize are, and how many of them is not said.
bool is_looked_up(const Task& task, const std::string& axis);

}  // namespace cupilot
