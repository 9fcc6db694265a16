// Tries, before a search, which lower classes the proof of a whole graph can tell
// (docs/formats/numerics.md, Programs).
#pragma once

#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// Honest executions with the operands of one contraction at a time in a class below the task's that
// the whole's proof lets pass: "first in bf16"; in classes below fp32-strict with one intermediate
// as well: "the result of first in bf16". Empty where all are refused, where the whole is not
// proved so, and on devices that do not observe.
Result<std::vector<std::string>> untold_classes(Backend& backend, const Task& task);

}  // namespace cupilot
