// Starting values of a search: knob values that fill the chip.
#pragma once

#include <functional>
#include <vector>

#include "strategy/build_space.hpp"

namespace cupilot {

// Blocks that the knobs' values launch; 0: not known.
using BlockCount = std::function<std::int64_t(const std::vector<std::int64_t>& values)>;

std::vector<std::int64_t> fallbacks(const std::vector<Knob>& knobs);

// Moves the fallbacks of `tiles` (positions in `knobs`) down to the smallest that launch no more
// blocks: what of a tile lies outside the output is work for nothing.
void fit_tiles(std::vector<Knob>& knobs, const std::vector<std::size_t>& tiles,
               const BlockCount& blocks);

// Moves the fallbacks of `movable` knobs to where at least `wanted` blocks run. A step takes the
// nearest value of one knob that doubles the blocks; of several knobs the one that gains most and,
// of equal ones, that of the largest value. A value grows, as a split of K does, only when no
// smaller one helps. A shape too small for that ends with the most blocks found.
void fill_machine(std::vector<Knob>& knobs, const std::vector<std::size_t>& movable,
                  const BlockCount& blocks, std::int64_t wanted);

}  // namespace cupilot
