// Helps both built-in strategists to propose nothing twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/agents.hpp>

namespace cupilot {

bool was_tried(const StrategyBrief& brief, const Strategy& strategy);

// A sample that was not tried; nullopt after `draws` in vain.
std::optional<Strategy> untried_sample(const StrategyBrief& brief, int draws, const Rng& rng);

// Error{usage} when the brief lacks its space.
Result<void> check_brief(const StrategyBrief& brief);

}  // namespace cupilot
