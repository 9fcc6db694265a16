// Projection to the nearest legal choice.
#pragma once

#include <optional>

#include "strategy/skeleton_plan.hpp"

namespace cupilot {

// Cost factors of a parameter's step and of a technique's coming or going; empty: 1 each. None is
// below 1.
struct Prices {
  std::vector<double> knobs{}, techniques{};
};

// The legal choice nearest to a well-formed `wish`, best first: a parameter step costs 1, taking a
// technique away or adding one 4. Ties fall by a hash of the wish, so that different wishes spread
// over equally near choices. nullopt: `budget` choices were looked at in vain.
std::optional<Choice> repair(const SkeletonPlan& plan, const ConstraintGraph& graph,
                             const Choice& wish, const Prices& prices, int budget);

// Walks from the legal `from` towards `wish`, keeping every step that stays legal. Always succeeds.
Choice approach(const SkeletonPlan& plan, const ConstraintGraph& graph, Choice from,
                const Choice& wish);

}  // namespace cupilot
