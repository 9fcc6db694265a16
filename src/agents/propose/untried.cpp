#include "agents/propose/untried.hpp"

#include <algorithm>
#include <array>

namespace cupilot {

std::string_view name_of(BreedKind kind) {
  constexpr std::array names = {"seed", "cross", "mutate", "explore", "tune", "repair"};
  return names[static_cast<std::size_t>(kind)];
}

bool was_tried(const StrategyBrief& brief, const Strategy& strategy) {
  return brief.tried && brief.tried(strategy_id(strategy));
}

std::optional<Strategy> untried_sample(const StrategyBrief& brief, int draws, const Rng& rng) {
  for (int draw = 0; draw < draws; ++draw) {
    Strategy strategy = sample(*brief.space, rng.fork(static_cast<std::uint64_t>(draw)));
    if (!strategy.uses.empty() && !was_tried(brief, strategy)) return strategy;
  }
  return std::nullopt;
}

Result<void> check_brief(const StrategyBrief& brief) {
  if (brief.space != nullptr) return {};
  return Error{ErrorCode::usage, "a strategist was asked without a space",
               "set StrategyBrief::space"};
}

}  // namespace cupilot
