// How much each technique of a space deserves a try: relief of what binds, what was learnt, the
// zone.
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

// What a technique takes of a resource's time, 0..1: most of what it relieves first of all, less of
// what it relieves besides.
double part_relieved(const Technique& technique, Resource resource);

// Share of the time that the technique may take away, 0..1, by the verdict; a guess from the zone
// where there is no verdict; 0 without a roofline.
double relief(const StrategyBrief& brief, const Technique& technique, const Verdict& verdict);

// Weight of changing something about each technique of the space, by name. `parent`: the strategy
// to be changed.
std::map<std::string, double> change_weights(const StrategyBrief& brief, const Individual& parent);

}  // namespace cupilot
