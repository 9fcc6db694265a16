// Control flow of a body: where the paths from a branch meet again.
#pragma once

#include <cstdint>
#include <vector>

namespace cupilot::ptx {

// Successors of every node; node n - 1 is the exit. Returns the immediate post-dominator of each
// node; the exit where a node never reaches it.
std::vector<std::uint32_t> post_dominators(
    const std::vector<std::vector<std::uint32_t>>& successors);

}  // namespace cupilot::ptx
