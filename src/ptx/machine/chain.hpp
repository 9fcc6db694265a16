// Counts how often a warp waits for memory, from the text of a body and how often its instructions
// were issued.
#pragma once

#include <cstdint>
#include <span>

#include "ptx/machine/execute.hpp"
#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// The waits of a warp on the path that waits longest, where warps part for good. Loops count as
// often as a warp goes through them.
struct Chain {
  double waits =
      0;  // for loads from global memory, one after another, less what other work covers of them
  double fills = 0;      // phases of mbarriers that expect bytes, a block
  double mbarriers = 0;  // that a block initialises
  // Instructions of the text that are issued often: the square of the sum of their issues over the
  // sum of the squares, which of a loop that takes all the time is its length.
  double text = 0;
};

void add(Chain& to, const Chain& more, double times);
// Leaves in `chain` whichever waits longer.
void keep_longest(Chain& chain, const Chain& other);

// `lines`: of a report; `blocks`: that ran for it.
Chain chain_of(const Module& module, std::uint32_t function, std::span<const LineCount> lines,
               double blocks);

}  // namespace cupilot::ptx
