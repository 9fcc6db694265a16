// Strong writes that a strong read of another block need not see yet: nothing orders it after them.
// Internal.
#pragma once

#include "ptx/machine/block_order.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {

// Bit of Step::aux of a fence that all fences of its kind, by whatever block, stand in one order
// with.
inline constexpr std::uint32_t in_one_order = 0x4000;

// The values that stood before the last strong write to each place of global memory, of one launch.
struct OlderValues;
// Begins to keep them where a launch's blocks run in turn and a kernel reads words strongly, in
// runs whose strong accesses give way.
void watch_values(LaunchContext& launch, bool gives_way);

inline bool sees_blocks(const Warp& warp, const Step& step) {
  return warp.block->launch->older != nullptr && (step.aux & within_block) == 0;
}

// Before the executing lanes write strongly where `pointers` lead, and before the words are told.
void keep_older(Warp& warp, const Step& step, const LaneAddresses& addresses,
                const LanePointers& pointers, std::uint32_t bytes);
// The executing lanes read the last value, as a compare-and-swap that fails does.
void note_seen(Warp& warp, const LaneAddresses& addresses, std::uint32_t bytes);
// Before a strong load: has lanes that nothing orders after the last write read what stood there
// before, by chance. Returns them.
std::uint32_t take_older(Warp& warp, const Step& step, const LaneAddresses& addresses,
                         std::uint32_t bytes, LanePointers& pointers);
// Returns what a lane of take_older's is told of other blocks.
Told told_before(const Warp& warp, std::uint64_t address);
// After a fence in one order.
void note_fence(Warp& warp);

}  // namespace cupilot::ptx
