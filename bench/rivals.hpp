// What a search has to beat, on the raw points of a landscape.
#pragma once

#include <cstdint>

#include <cupilot/rng.hpp>

#include "backend/replayed/landscape.hpp"

namespace cupilot {

struct RaceRules {
  double within = 1.05;      // of the optimum's time
  std::int64_t cap = 20000;  // evaluations counted for a sample that never comes so near
};

// Uniform points, with replacement.
std::int64_t random_search(const Landscape& landscape, const RaceRules& rules, Rng rng);

// First improvement over all points that differ in one site, in a new random order after each step;
// a new random start at each local optimum. A point evaluated before costs nothing again.
std::int64_t restarted_hill_climbing(const Landscape& landscape, const RaceRules& rules, Rng rng);

}  // namespace cupilot
