// The text of a kernel made from a template: comment, types, constants, tensor types, template
// (docs/formats/tunable.md).
#pragma once

#include <string>
#include <string_view>

#include <cupilot/parts/tunable.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// Marks in such a text: the beginning of a strategy's constants, and of the text behind them.
inline constexpr std::string_view chosen_mark = "// What the strategy chose.\n";
inline constexpr std::string_view types_mark = "// Storage types of the tensors.\n";

// Self-contained CUDA C++. Error names an include of "cupilot/…" that does not exist.
Result<std::string> template_text(const Tunable& tunable, const Task& task,
                                  const Strategy& strategy, const Constants& constants);

}  // namespace cupilot
