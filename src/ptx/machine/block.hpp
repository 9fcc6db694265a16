// The life of one block and of all blocks of a launch. Internal.
#pragma once

#include <vector>

#include "ptx/machine/cluster.hpp"

namespace cupilot::ptx {

// In half of the runs that look for races: between two strong accesses of a thread anybody may
// come, or nobody.
bool gives_way(const ExecuteOptions& options);

// Readies a block for its first instruction; its storage is reused from block to block.
void start_block(Block& block, Cluster& cluster, std::uint32_t rank);

// All warps are done: what is still under way for the block ends, and nobody may use its shared
// memory from now on.
void end_block(Block& block);

// Runs a ready warp until it waits, ends, faults, gives way, or has used `fuel` instructions;
// returns those used.
std::uint64_t run_warp(Warp& warp, std::uint64_t fuel);

// Runs the blocks that the launch's options name, from memory as it stands, spread over host
// threads where nothing can tell. What comes of it does not depend on the number of threads: blocks
// that turn out to touch each other's global memory, to fault or to pass the budget run again on
// one.
std::vector<Worker> run_blocks(LaunchContext& context);

}  // namespace cupilot::ptx
