// The text of a kernel made from a template: comment, types, constants, tensor types, template (docs/formats/tunable.md).
#pragma once

#include <string>

#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>
#include <cupilot/tunable.hpp>

namespace cupilot {

// Self-contained CUDA C++. Error names an include of "cupilot/…" that does not exist.
Result<std::string> template_text(const Tunable& tunable, const Task& task, const Strategy& strategy, const Constants& constants);

}  // namespace cupilot
