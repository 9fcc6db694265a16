// Which template realises a strategy.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <cupilot/parts/tunable.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// The template that realises every technique of the strategy (of several, the one that requires
// most), or a sentence that says why there is none and names the technique.
std::variant<const Tunable*, std::string> choose_template(const std::vector<Tunable>& tunables,
                                                          const Task& task,
                                                          const Strategy& strategy);

// Chooses among those that serve the task, which serving_among() finds once.
std::vector<const Tunable*> serving_among(const std::vector<Tunable>& tunables, const Task& task);
std::variant<const Tunable*, std::string> choose_serving(const std::vector<const Tunable*>& serving,
                                                         const Task& task,
                                                         const Strategy& strategy);

}  // namespace cupilot
