// One block's life. Internal.
#pragma once

#include "ptx/machine.hpp"

namespace cupilot::ptx {

// Readies a block for its first instruction; its storage is reused from block to block.
void start_block(Block& block, Worker& worker, std::uint64_t index);

// Runs warps in turn until the block ends, faults, or has used about `fuel` instructions.
void run_block(Block& block, std::uint64_t fuel);

}  // namespace cupilot::ptx
