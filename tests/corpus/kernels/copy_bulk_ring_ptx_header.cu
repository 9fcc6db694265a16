// A ring of cp.async.bulk loads on mbarriers by the cuda::ptx header: one thread produces for the block.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cuda/ptx>
#include <cuda/std/cstdint>
namespace ptx = cuda::ptx;
using cuda::std::uint64_t;

extern "C" __global__ void scale(const float* x, float* y, int n) {
  constexpr int STAGES = 2, TILE = 256;
  __shared__ alignas(128) float ring[STAGES][TILE];
  __shared__ uint64_t full[STAGES];
  const int t = threadIdx.x, tiles = n / TILE / gridDim.x;
  x += blockIdx.x * tiles * TILE, y += blockIdx.x * tiles * TILE;
  if (t == 0) {
    for (int s = 0; s < STAGES; ++s) ptx::mbarrier_init(&full[s], 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  const auto fetch = [&](int i) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[i % STAGES], TILE * 4);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, ring[i % STAGES], x + i * TILE, TILE * 4, &full[i % STAGES]);
  };
  if (t == 0) {
    for (int i = 0; i < STAGES && i < tiles; ++i) fetch(i);
  }
  for (int i = 0; i < tiles; ++i) {
    while (!ptx::mbarrier_try_wait_parity(&full[i % STAGES], i / STAGES & 1)) {
    }
    for (int j = t; j < TILE; j += 128) y[i * TILE + j] = 2.f * ring[i % STAGES][j];
    __syncthreads();
    if (t == 0 && i + STAGES < tiles) fetch(i + STAGES);
  }
}
