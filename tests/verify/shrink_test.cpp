#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "verify/plans.hpp"

namespace cupilot {
namespace {

TEST_CASE("a shrunken shape keeps residues, tiles, slabs and requirements") {
  KernelSource source = tiled_gemm();
  source.plan.require = {"k%8==0"};
  Rng rng(4);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t m = 1 + rng.below(9000), n = 1 + rng.below(9000),
                       k = 8 * (1 + rng.below(1000)), batch = 1 + rng.below(9);
    const Workload full{.sizes = {{"m", m}, {"n", n}, {"k", k}, {"batch", batch}}};
    const Sizes small = shrink(gemm_of(m, n, k, batch), source, full, DeviceSpec{}, 2, 5).sizes;
    INFO(m << " " << n << " " << k << " -> " << small.at("m") << " " << small.at("n") << " "
           << small.at("k"));
    CHECK(small.at("m") % 128 == m % 128);
    CHECK(small.at("n") % 64 == n % 64);
    CHECK(small.at("k") % 16 == k % 16);
    CHECK(small.at("k") % 8 == 0);
    CHECK(small.at("m") >= std::min<std::int64_t>(m, 256));
    CHECK(small.at("n") >= std::min<std::int64_t>(n, 128));
    CHECK(small.at("k") >= std::min<std::int64_t>(k, 8 * 16));  // both halves of a split in four
    CHECK(small.at("m") <= std::min<std::int64_t>(m, 256 + 128));
    CHECK(small.at("k") <= std::min<std::int64_t>(k, 8 * 16 + 16));
    CHECK(small.at("batch") == std::min<std::int64_t>(batch, 2));
  }
}

TEST_CASE("a plan that needs more grows the shape") {
  KernelSource source = tiled_gemm();
  source.plan.require = {"m>=1000"};
  const Workload full{.sizes = {{"m", 4096}, {"n", 4096}, {"k", 4096}, {"batch", 1}}};
  const Workload small = shrink(gemm_of(4096, 4096, 4096), source, full, DeviceSpec{}, 2, 4);
  CHECK(small.sizes.at("m") == 1024);
  source.plan.require = {"m==4096"};
  CHECK(shrink(gemm_of(4096, 4096, 4096), source, full, DeviceSpec{}, 2, 4).sizes.at("m") == 4096);
}

}  // namespace
}  // namespace cupilot
