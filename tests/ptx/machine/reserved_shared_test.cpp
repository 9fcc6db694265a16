// The shared memory that the system keeps for itself: where it lies, and cooperative groups of
// several warps, which meet there.
#include <cstdint>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;

TEST_CASE("kernels are told where the system's shared memory lies", "[shared]") {
  const auto module = module_of_cuda(R"(
extern "C" __global__ void offsets(unsigned* o) {
  __shared__ volatile unsigned own[30];
  own[threadIdx.x] = 7;
  asm("mov.u32 %0, %%reserved_smem_offset_begin;" : "=r"(o[0])); asm("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(o[1]));
  asm("mov.u32 %0, %%reserved_smem_offset_cap;" : "=r"(o[2])); asm("mov.u32 %0, %%reserved_smem_offset_0;" : "=r"(o[3]));
  asm("mov.u32 %0, %%reserved_smem_offset_1;" : "=r"(o[4])); asm("mov.u32 %0, %%total_smem_size;" : "=r"(o[5]));
  asm("mov.u32 %0, %%aggr_smem_size;" : "=r"(o[6]));
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(o[7]) : "r"(o[4] + 508));
  o[8] = own[threadIdx.x];
})");
  Device d;
  const auto io = d.output("o", 36);
  REQUIRE(faults_of(d.run(module, "offsets", {1}, {1}, 0, Device::Pointer{io})) == "");
  const auto o = d.values<std::uint32_t>(io);
  CHECK(o[1] - o[0] == 1024);
  CHECK(o[2] == 1024);
  CHECK((o[3] >= o[0] && o[4] > o[3] && o[4] + 512 <= o[1]));
  CHECK(o[5] == 120);
  CHECK(o[6] == 1024 + 120);
  CHECK((o[7] == 0 && o[8] == 7));
}

TEST_CASE("groups of several warps meet in the system's shared memory", "[shared]") {
  const auto module =
      module_of(compile_ptx(R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sums(int* o) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<128>(block);
  int sum = 0;
  for (int i = 0; i < 3; ++i) { sum += cg::reduce(tile, (int)threadIdx.x + i, cg::plus<int>()); tile.sync(); }
  o[blockIdx.x * 256 + threadIdx.x] = sum;
})",
                            {"-I" CUPILOT_CUDA_INCLUDE, "-I" CUPILOT_CUDA_INCLUDE "/cccl"}));
  for (const std::uint64_t seed : {0u, 3u, 4u}) {
    Device d;
    d.options.seed = seed;
    const auto io = d.output("o", 2 * 256 * 4);
    REQUIRE(faults_of(d.run(module, "sums", {2}, {256}, 0, Device::Pointer{io})) == "");
    const auto o = d.values<std::int32_t>(io);
    for (int i = 0; i < 512; ++i) {
      const int first = i % 256 < 128 ? 0 : 128;
      REQUIRE(o[static_cast<std::size_t>(i)] == 3 * (128 * first + 127 * 64 + 128));
    }
  }
}
