// Small changes to a strategy's text form; feasibility is the space's business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/space.hpp>
#include <cupilot/strategy.hpp>

namespace cupilot {

const Use* find_use(const Strategy& strategy, std::string_view technique);
Use* find_use(Strategy& strategy, std::string_view technique);

// Knobs of a technique, in the space's order.
std::vector<const Knob*> knobs_of(const Space& space, std::string_view technique);

// Position in the knob's domain of the value in use (nearest where it is none of the domain).
int position_of(const Knob& knob, const Use& use);

// Without the technique. What needed it goes when the wish is completed.
Strategy without(const Strategy& strategy, std::string_view technique);

// Two techniques that may not stand together by their rows.
bool rivals(const Technique& a, const Technique& b);

}  // namespace cupilot
