// Asynchronous products of warpgroups: what a warp has issued and not yet waited for. Internal.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "ptx/machine/machine.hpp"

namespace cupilot::ptx {

// A wgmma.mma_async, or a register copy that follows a sum not there yet.
struct GroupItem {
  const Step* step = nullptr;  // null: a copy
  std::uint64_t a = 0, b = 0;  // matrix descriptors
  bool adds = false;           // to the accumulator; else to zero
  std::uint32_t from = 0, to = 0;
  std::vector<std::uint32_t> metadata;  // of a sparse A, a lane each
  std::uint8_t* registers = nullptr;    // of the frame that issued it
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
  std::deque<std::vector<GroupItem>> groups;  // committed, not waited for; without what was done
                                              // when another warp waited
  std::uint32_t committed = 0, completed = 0;
  std::uint32_t awaited = 0;         // groups that all four warps must commit before it goes on
  std::uint32_t slot = 0, mark = 0;  // of the stream of groups; of the open group's reads
  std::uint64_t issued = 0;          // products and groups so far
};

// The warp's state, made when there is none.
Products& products_of(Warp& warp);
inline bool pending(const Products& p, std::uint32_t slot) {
  return p.use[slot / 64].group > p.completed;
}

inline constexpr std::uint32_t k_bytes = 32;  // of one row of A or B in one product, in every type
inline constexpr int most_k = 64;             // elements

struct GroupMatrix {
  std::uint64_t descriptor = 0;
  bool transposed = false;
  std::uint32_t bytes = k_bytes;  // of k in a row: twice as many in the B of a sparse product
  // Returns the address of the 16-byte unit that holds (row, byte of k); transposed: (8 rows, k).
  std::uint32_t address(std::uint32_t row, std::uint32_t k) const;
};

// Every unit of the rows lies in the block's shared memory, was written before and may be read by
// the asynchronous proxy; they carry the mark from then on. False after a fault.
bool check_matrix(Warp& warp, const Step& step, const char* name, const GroupMatrix& matrix,
                  std::uint32_t first, std::uint32_t rows, std::uint32_t mark);

// Which rows to read, what to flip in every element, and how far apart rows and k lie in the
// result.
struct Gathering {
  std::uint32_t element_bits = 0, negate = 0;
  std::uint32_t first = 0, rows = 0;
  std::uint32_t row_step = 0, k_step = 0;
};
void gather_matrix(const Warp& warp, const GroupMatrix& matrix, const Gathering& gathering,
                   std::uint32_t* out);

}  // namespace cupilot::ptx
