// Describes a task, a device and strategies to models: plain text, the same for the same things. No
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
// Bytes, operations, floor and launch of the first timed shape, and what to watch in its zone.
std::string limits_text(const Task& task, const DeviceSpec& device);
// Says in one sentence or two what the class of precision allows.
std::string precision_text(const Task& task);
// The task's constants as a line to copy; "": it has none.
std::string constants_text(const Task& task);
// "Of a group exactly one is used. " where there is a group.
std::string groups_text(const Space& space);
// A line a technique: name, group, sentence, parameters and what they may be.
std::string techniques_text(const Space& space);
// A line a technique in use, then the reason.
std::string strategy_text(const Strategy& strategy);
// `name`: what the question calls it. `launch_us`: the part of its time that every kernel pays.
std::string individual_text(const StrategyBrief& brief, const Individual& individual,
                            const std::string& name, double best_us, double launch_us);
// The fastest and the latest kernels of the run, a line each.
std::string history_text(const StrategyBrief& brief);
// Those that have both parents; "": none.
std::string children_text(const StrategyBrief& brief);
// Says what leads from one strategy to another, a line each: add, drop, change.
std::vector<std::string> difference(const Strategy& from, const Strategy& to);
// Lists techniques that helped, that harmed, and that were refused with the reason; "" when nothing
// is known.
std::string known_text(const StrategyBrief& brief);
// `kernel`: the words that name it.
std::string digest_text(const std::vector<std::string>& digest, std::string_view kernel);
std::string population_text(const std::vector<Strategy>& population);

}  // namespace cupilot
