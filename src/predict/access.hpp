// What a warp's accesses of the operands cost, lane by lane: gemm_simt.cu and gemm_mma.cu say where
// each lane reads and writes.
#pragma once

#include <array>

namespace cupilot {

// Byte addresses of a warp's lanes.
using LaneAddresses = std::array<int, 32>;

// Passes over 32 banks of 4 bytes. As src/ptx/machine/pattern.cpp counts them, which was held
// against CUPTI's wavefronts (docs/results/counters): 8 bytes go by half warps, 16 by quarters, and
// two of these at once where neighbouring lanes load the same.
double bank_passes(const LaneAddresses& address, int bytes, bool load);

// An operand of a tile, and how its slabs come from global memory.
struct Side {
  bool k_fast = true;  // neighbours along K are adjacent in memory
  int outer = 64;      // rows of A or columns of B
  int depth = 32;      // of K, a slab
  int bytes = 2;       // of an element
  int width = 1;       // elements that a copy moves
  int pad = 0;         // elements
  bool swizzle = false;

  int line() const { return k_fast ? depth : outer; }
  int along(int o, int k) const { return k_fast ? k : o; }
  int across(int o, int k) const { return k_fast ? o : k; }
};

// Warp-wide copies of a slab, and the 32-byte sectors that each asks for.
double copy_requests(const Side& side);
double copy_sectors(const Side& side);

// gemm_mma: passes of one warp-wide copy into the slab.
double mma_copy_passes(const Side& side);
// Reads of fragments: 16 rows of A a step, or two neighbouring 8-column parts of B.
struct FragmentReads {
  double passes = 0, loads = 0;
  bool halves = false;  // words are put together from two loads
};
FragmentReads mma_rows(const Side& side, bool matrices);
FragmentReads mma_columns(const Side& side, bool matrices);

// gemm_simt: slabs of floats, K outermost. `permuted` and `piece`: PERMUTE, and the floats of a
// read.
double simt_copy_passes(const Side& side, int threads, bool permuted, int piece, bool async);
// Reads of a step: `tile` rows or columns a thread, in pieces of up to 4, of lanes that lie
// `lanes_n` side by side.
FragmentReads simt_reads(int tile, int lanes_n, bool rows);

}  // namespace cupilot
