#include "predict/access.hpp"

#include "catch.hpp"

using namespace cupilot;

namespace {

LaneAddresses every(int bytes) {
  LaneAddresses address{};
  for (int lane = 0; lane < 32; ++lane) address[static_cast<std::size_t>(lane)] = lane * bytes;
  return address;
}

// A as it lies for C = A B: neighbours along K.
Side slab(int depth, int pad, bool swizzle) {
  Side side;
  side.k_fast = true;
  side.depth = depth;
  side.pad = pad;
  side.swizzle = swizzle;
  return side;
}

}  // namespace

TEST_CASE("passes follow banks, words and the width of an access") {
  CHECK(bank_passes(every(4), 4, true) == 1);
  CHECK(bank_passes(every(128), 4, true) == 32);  // one bank
  CHECK(bank_passes(every(0), 4, true) == 1);     // one word
  CHECK(bank_passes(every(8), 8, true) == 2);
  CHECK(bank_passes(every(16), 16, true) == 4);
  LaneAddresses pairs = every(16);
  for (std::size_t lane = 0; lane < 32; ++lane) pairs[lane] = static_cast<int>(lane / 2) * 16;
  CHECK(bank_passes(pairs, 16, true) == 2);   // neighbours load the same
  CHECK(bank_passes(pairs, 16, false) == 4);  // and store it twice
}

TEST_CASE("padding and swizzles part the rows of a matrix") {
  CHECK(mma_rows(slab(32, 0, false), true).passes ==
        16);  // rows of 64 bytes: four of eight lie in the same banks
  CHECK(mma_rows(slab(32, 8, false), true).passes == 4);
  CHECK(mma_rows(slab(32, 0, true), true).passes == 4);
  CHECK(mma_rows(slab(32, 8, false), false).loads == 4);
  Side columns = slab(32, 0, false);
  columns.k_fast = false;
  CHECK(mma_columns(columns, false).loads == 8);  // two halves a word
  CHECK(mma_columns(columns, false).halves);
  CHECK_FALSE(mma_columns(columns, true).halves);
}

TEST_CASE("copies ask for whole sectors") {
  Side side = slab(32, 0, false);
  side.outer = 128;
  side.width = 8;  // 16 bytes a lane, 64 a row
  CHECK(copy_requests(side) == 16);
  CHECK(copy_sectors(side) == 16);
  side.width = 1;  // a row a warp
  CHECK(copy_requests(side) == 128);
  CHECK(copy_sectors(side) == 2);
}

TEST_CASE("floats that are turned on their way lie in one bank or are permuted") {
  Side side = slab(16, 0, false);
  side.bytes = 4;
  side.outer = 64;
  const double plain = simt_copy_passes(side, 128, false, 4, false);
  CHECK(plain == 16);  // sixteen of K, 64 floats apart
  CHECK(simt_copy_passes(side, 128, true, 4, false) < plain);
  CHECK(simt_reads(4, 8, true).passes == 2);  // 8 side by side load the same: two quarters a pass
  CHECK(simt_reads(8, 8, false).loads == 2);
}
