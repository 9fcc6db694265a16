#include "catch.hpp"

#include <cupilot/verdict.hpp>

#include "roofline/rereads.hpp"

using namespace cupilot;

namespace {

struct Reread {
  const char* what;
  std::int64_t blocks;
  int registers;  // of 256 threads: 32 let 8 blocks be resident, 255 one
  double bytes, span;
  double least, most;  // share of what is loaded again that comes from DRAM
};

constexpr double kib = 1024, mib = 1024 * kib;

// An H200 has 132 SMs and 50 MiB of L2.
const Reread rereads[] = {
    {"nothing is loaded again", 1 << 16, 32, 0, 0, 0, 0},
    {"all resident blocks' rows fit L2", 1 << 16, 32, 8 * kib, 8 * kib, 0, 0},
    {"rows of 1056 resident blocks are eight times L2", 1 << 16, 32, 384 * kib, 384 * kib, 0.8, 1},
    {"the same rows of one block an SM just pass it", 1 << 16, 255, 384 * kib, 384 * kib, 0.3, 0.7},
    {"few blocks have short rows", 8, 255, 1 * mib, 1 * mib, 0, 0},
    {"few blocks have long rows", 8, 255, 64 * mib, 64 * mib, 0.9, 1},
    {"tiles of long rows are loaded again at once", 1 << 16, 32, 8 * mib, 4 * kib, 0, 0},
};

}  // namespace

TEST_CASE("what blocks load again comes from DRAM where L2 does not hold what lies between",
          "[roofline]") {
  for (const Reread& one : rereads) {
    INFO(one.what);
    ModelInput input;
    input.blocks = one.blocks;
    input.threads_per_block = 256;
    input.registers = one.registers;
    input.reread_bytes = one.bytes;
    input.reread_span = one.span;
    const double far = far_reread_bytes(*chip("h200"), input);
    const double all = one.bytes * static_cast<double>(one.blocks);
    CHECK(far >= one.least * all);
    CHECK(far <= one.most * all);
  }
}
