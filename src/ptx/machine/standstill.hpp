// Finds that a launch stands still: every warp that can run only asks again for what none changes.
// Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ptx/machine/cluster.hpp"

namespace cupilot::ptx {

// A worker's clusters as they were last looked at.
struct Standstill {
  struct Asked {
    const Step* step = nullptr;
    std::uint32_t again = 0;  // times in a row
  };
  std::uint32_t rounds = 0;     // since then
  std::uint64_t written = 0;    // changes of memory, barriers and blocks
  std::uint64_t registers = 0;  // digest of those of the warps that ask
  std::vector<Asked> asked;     // of each such warp; empty: not all asked
};

// Call it after each round of turns. Returns a warp that asks once all that can run have asked the
// same thousands of times without a change of any register, of memory or of a barrier, so that
// whatever is drawn leads nowhere else; else null.
Warp* standing_still(Standstill& last, const std::vector<std::unique_ptr<Cluster>>& alive);

}  // namespace cupilot::ptx
