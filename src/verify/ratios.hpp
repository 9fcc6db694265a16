// Pairs of sizes that tell a place computed in fp32 from the exact one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/shapes.hpp"

namespace cupilot {

// `from` elements are read, an element of `to` chooses among them.
struct SizePair {
  std::int64_t from = 1, to = 1;
};

// Sizes up to 128 at which a place by a rounded ratio (asymmetric, by centres, by corners; a factor
// or a divisor) is another element than the exact place: each formula is told at least twice, and
// once by multiples of 4 and of 8.
std::span<const SizePair> telling_ratios();

// Takes multiples of both units, up to 24 times them, small ones first: a formula that any of
// these tells is told twice where it can be.
std::vector<SizePair> telling_ratios(const SizePair& units);

// Shapes in which axes that are looked up, as by a resize, stand against each other axis in turn by
// telling ratios, the rest small: for axes at which the plan does not take all of the usual ones
// multiples of the least sizes that it takes, then the usual ones. `base` has the sizes of fixed
// axes.
std::vector<Workload> ratio_shapes(const Task& task, const PlanRequirements& requirements,
                                   const PlanSteps& steps, const Workload& base);

// The least sizes d of which d times the rounded reciprocal of d is less than 1: two in fp32, then
// one in fp64.
std::span<const std::int64_t> telling_divisors();

}  // namespace cupilot
