// One block's life. Internal.
#pragma once

#include "ptx/machine/cluster.hpp"

namespace cupilot::ptx {

// Readies a block for its first instruction; its storage is reused from block to block.
void start_block(Block& block, Cluster& cluster, std::uint32_t rank);

// All warps are done: what is still under way for the block ends, and nobody may use its shared
// memory from now on.
void end_block(Block& block);

// Runs a ready warp until it waits, ends, faults, gives way, or has used `fuel` instructions;
// returns those used.
std::uint64_t run_warp(Warp& warp, std::uint64_t fuel);

}  // namespace cupilot::ptx
