// Weighs each technique of a space by the relief of what binds, by learnt effects and by the zone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <cupilot/parts/agents.hpp>

namespace cupilot {

// Resources that matter left of both ridges, between them, right of both.
const std::vector<Resource>& resources_of(Zone zone);

// Mean gain (log2) of having the technique, drawn towards 0 where it was seen seldom; 0: nothing
// known.
double learnt_gain(const StrategyBrief& brief, const std::string& technique);

// Returns the share of a resource's time that a technique may save, 0..1: large for its first
// target, smaller for further ones.
double part_relieved(const Technique& technique, Resource resource);

// Share of the time that the technique may take away, 0..1, by the verdict; a guess from the zone
// where there is no verdict; 0 without a roofline.
double relief(const StrategyBrief& brief, const Technique& technique, const Verdict& verdict);

// Weight of changing something about each technique of the space, by name. `parent`: the strategy
// to be changed.
std::map<std::string, double> change_weights(const StrategyBrief& brief, const Individual& parent);

}  // namespace cupilot
