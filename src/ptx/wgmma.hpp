// Asynchronous products of warpgroups: what a warp has issued and not yet waited for. Internal.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "ptx/machine.hpp"

namespace cupilot::ptx {

// A wgmma.mma_async, or a register copy that follows a sum not there yet.
struct GroupItem {
  const Step* step = nullptr;  // null: a copy
  std::uint64_t a = 0, b = 0;  // matrix descriptors
  bool adds = false;           // to the accumulator; else to zero
  std::uint32_t from = 0, to = 0;
};

// State of a warp's registers between wgmma and everything else, one entry a 64-byte slot.
struct RegisterUse {
  bool dirty = false;       // touched by another instruction since the last wgmma.fence
  bool sum = false;         // last used as an accumulator, else as A
  std::uint32_t group = 0;  // that uses it: 1 + its number; 0: none
  std::uint32_t shape = 0;  // n of that accumulator
};

struct Products {
  bool fenced = false;
  const Code* code = nullptr;  // whose registers `use` describes
  std::vector<RegisterUse> use;
  std::vector<GroupItem> open;                // of the group being built
  std::deque<std::vector<GroupItem>> groups;  // committed, not waited for
  std::uint32_t committed = 0, completed = 0;
  std::uint32_t slot = 0, mark = 0;  // of the stream of groups; of the open group's reads
  std::uint64_t issued = 0;          // products so far
};

// The warp's state, made when there is none.
Products& products_of(Warp& warp);
inline bool pending(const Products& p, std::uint32_t slot) { return p.use[slot / 64].group > p.completed; }

// Bytes of one row, and where the 16-byte unit that holds (row, byte of k) lies; transposed: (unit of 8 rows, k).
struct GroupMatrix {
  std::uint64_t descriptor = 0;
  bool transposed = false;
  std::uint32_t address(std::uint32_t row, std::uint32_t k) const;
};

}  // namespace cupilot::ptx
