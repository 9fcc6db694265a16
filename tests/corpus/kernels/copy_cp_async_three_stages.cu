// Scaled copy through three stages of cp.async.cg: two groups stay in flight while the oldest is used.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
constexpr int STAGES = 3, TILE = 256;

extern "C" __global__ void scale(const float* x, float* y, int n) {
  __shared__ __align__(16) float ring[STAGES][TILE];
  const int t = threadIdx.x, tiles = n / TILE / gridDim.x, first = blockIdx.x * tiles;
  const auto fetch = [&](int i) {
    if (i < tiles) {
      const unsigned to = (unsigned)__cvta_generic_to_shared(&ring[i % STAGES][t * 4]);
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(x + (first + i) * TILE + t * 4) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int i = 0; i < STAGES - 1; ++i) fetch(i);
  for (int i = 0; i < tiles; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    fetch(i + STAGES - 1);
    for (int j = t; j < TILE; j += 64) y[(first + i) * TILE + j] = 2.f * ring[i % STAGES][j];
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}
