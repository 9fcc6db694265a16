// What prompts say of a task, a device and strategies: plain text, the same for the same things. No
// raw counters, no paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// Meaning of a rejection code, for a reader without the table; "refused" for an unknown code.
std::string_view meaning_of(const std::string& code);

std::string task_text(const Task& task);
std::string device_text(const DeviceSpec& device, Precision precision);
// A line a technique: name, group, sentence, parameters and what they may be.
std::string techniques_text(const Space& space);
// A line a technique in use, then the reason.
std::string strategy_text(const Strategy& strategy);
std::string individual_text(const StrategyBrief& brief, const Individual& individual,
                            double best_us);
// What helped, what harmed, what was refused and why; "" when nothing is known.
std::string known_text(const StrategyBrief& brief);
std::string digest_text(const std::vector<std::string>& digest);
std::string population_text(const std::vector<Strategy>& population);

}  // namespace cupilot
