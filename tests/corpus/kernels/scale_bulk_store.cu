// Results leave by cp.async.bulk stores: a proxy fence, a bulk group a tile, and a slot is written again only after wait_group.read.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
constexpr int TILE = 256;

extern "C" __global__ void scale(const float* x, float* y, int n) {
  __shared__ __align__(16) float out[2][TILE];
  const int t = threadIdx.x, tiles = n / TILE / gridDim.x;
  x += blockIdx.x * tiles * TILE, y += blockIdx.x * tiles * TILE;
  for (int i = 0; i < tiles; ++i) {
    if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    __syncthreads();
    for (int j = t; j < TILE; j += 64) out[i % 2][j] = 2.f * x[i * TILE + j];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + i * TILE),
                   "r"((unsigned)__cvta_generic_to_shared(out[i % 2])), "n"(TILE * 4) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
