// Where a search starts: knob values that a chip can be filled with.
#pragma once

#include <functional>
#include <vector>

#include "strategy/build_space.hpp"

namespace cupilot {

// Blocks that the knobs' values launch; 0: not known.
using BlockCount = std::function<std::int64_t(const std::vector<std::int64_t>& values)>;

// Moves the fallbacks of `movable` knobs (positions in `knobs`) down to where at least `wanted` blocks run. A step takes the
// largest value of one knob that doubles the blocks; of several knobs the one that gains most and, of equal ones, that of the
// largest value. A shape too small for that ends with the most blocks found.
void fill_machine(std::vector<Knob>& knobs, const std::vector<std::size_t>& movable, const BlockCount& blocks,
                  std::int64_t wanted);

}  // namespace cupilot
