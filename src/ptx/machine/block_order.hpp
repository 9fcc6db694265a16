// Order between blocks: which accesses of other blocks to global memory come before a warp's own,
// by releases that it acquired. Internal.
#pragma once

#include "ptx/machine/thread_order.hpp"

namespace cupilot::ptx {

// Other blocks, ascending, with the clocks of their warps up to which accesses are known.
struct Foreign {
  struct Of {
    std::uint64_t block = 0;
    std::shared_ptr<const Clocks> clocks;
  };
  std::vector<Of> blocks;
  // The word whose tellings it is a copy of, and how often that was told until then; null: of none.
  const void* word = nullptr;
  std::uint64_t tellings = 0;
};

// Words of global memory that strong writes released something to, of one launch.
struct Tellings;
// Begins to remember them for a launch whose blocks run in turn; not for kernels without any such
// order. Of grids of more than a few thousand blocks the first and the last are told of alone.
void watch_blocks(LaunchContext& launch);

void learn_foreign(std::shared_ptr<const Foreign>& into,
                   const std::shared_ptr<const Foreign>& from);

// Holds what a word was told of other blocks; null: nothing. `assumed`: by results of atomics
// alone.
struct Told {
  std::shared_ptr<const Foreign> known, assumed;
};
// A strong write by the block tells `clocks` of its warps, and what they know of other blocks, to
// who reads the word so.
void tell_blocks(Warp& warp, std::uint64_t word, const std::shared_ptr<const Clocks>& clocks,
                 const Told& others);
// Returns what a word was told so far.
Told told_to(const Warp& warp, std::uint64_t word);

// True if the accesses at a clock by a warp of another block come before the warp's next.
bool block_knows(const Warp& warp, std::uint64_t block, std::uint32_t other, std::uint32_t clock);
// True if they do by an atomic's result alone.
bool block_assumed(const Warp& warp, std::uint64_t block, std::uint32_t other, std::uint32_t clock);
// Asks this of a write of another block by its stamp.
inline bool block_knows_write(const Warp& warp, std::uint64_t block, std::uint32_t stamp) {
  return block_knows(warp, block, (stamp & 1023) / 32, stamp_clock(stamp) & 0xfffff);
}

// Checks that an access comes after those of other blocks to the same cells that it must follow;
// `by`: the block (its number and one) that wrote the word last. False after a fault.
bool blocks_ordered(Warp& warp, const Step& step, std::uint32_t lane, Buffer& buffer,
                    const WordAccess& access, std::uint32_t by);

}  // namespace cupilot::ptx
