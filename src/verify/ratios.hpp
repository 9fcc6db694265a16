// Pairs of sizes that tell a place computed in fp32 from the exact one.
#pragma once

#include <cstdint>
#include <span>

namespace cupilot {

// `from` elements are read, an element of `to` chooses among them.
struct SizePair {
  std::int64_t from = 1, to = 1;
};

// Sizes up to 128 at which a place by a rounded ratio (asymmetric, by centres, by corners; a factor
// or a divisor) is another element than the exact place: each formula is told at least twice, and
// once by multiples of 4 and of 8.
std::span<const SizePair> telling_ratios();

// The least sizes d of which d times the rounded reciprocal of d is less than 1: two in fp32, then
// one in fp64.
std::span<const std::int64_t> telling_divisors();

}  // namespace cupilot
