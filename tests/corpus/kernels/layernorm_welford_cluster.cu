// Layer norm of huge rows: a cluster of eight blocks a row; Welford triples are merged over lanes, warps and blocks.
// cupilot: {"plan": {"launches": [{"entry": "layernorm", "grid": ["8 * outer"], "block": [64], "cluster": [8], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 2000}, "in": {"x": ["fp32", "outer", "mid", {"kind": "normal", "low": 20}]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "normalised"}}
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

struct Moments {
  float count, mean, m2;
  __device__ void add(float v) {
    count += 1.f;
    const float d = v - mean;
    mean += d / count;
    m2 += d * (v - mean);
  }
  __device__ void merge(Moments o) {
    const float all = count + o.count;
    if (all == 0.f) return;
    const float d = o.mean - mean;
    mean += d * o.count / all;
    m2 += o.m2 + d * d * count * o.count / all;
    count = all;
  }
};

extern "C" __global__ void layernorm(const float* x, float* y, int n) {
  __shared__ Moments of_warp[2], of_block;
  const auto cluster = cg::this_cluster();
  const size_t begin = (size_t)(blockIdx.x / 8) * n;
  const int first = cluster.block_rank() * 64 + threadIdx.x;
  Moments m{};
  for (int i = first; i < n; i += 512) m.add(x[begin + i]);
  for (int s = 16; s > 0; s >>= 1) {
    m.merge({__shfl_down_sync(~0u, m.count, s), __shfl_down_sync(~0u, m.mean, s), __shfl_down_sync(~0u, m.m2, s)});
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = m;
  __syncthreads();
  if (threadIdx.x == 0) {
    m.merge(of_warp[1]);
    of_block = m;
  }
  cluster.sync();
  Moments all{};
  for (unsigned r = 0; r < cluster.num_blocks(); ++r) all.merge(*cluster.map_shared_rank(&of_block, r));
  const float scale = rsqrtf(all.m2 / n + 1e-5f);
  for (int i = first; i < n; i += 512) y[begin + i] = (x[begin + i] - all.mean) * scale;
  cluster.sync();
}
