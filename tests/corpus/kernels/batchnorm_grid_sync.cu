// Batch norm in one cooperative launch: partial sums, a grid barrier, then every block finishes its share from registers.
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "channels * outer * 8"}], "launches": [{"entry": "batchnorm", "grid": ["channels", "outer"], "block": [128], "cooperative": true, "args": ["x", "part", "y", {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 3, "channels": 4, "inner": 110}, "in": {"x": ["fp32", "outer", "channels", "inner"]}, "out": {"y": ["fp32", "outer", "channels", "inner"]}, "expect": {"y": "batchnorm"}}
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void batchnorm(const float* x, float2* part, float* y, int inner) {
  __shared__ float2 of_warp[4];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const size_t at = (size_t)(blockIdx.y * gridDim.x + blockIdx.x) * inner + threadIdx.x;
  const float v = threadIdx.x < inner ? x[at] : 0.f;
  float2 s = {cg::reduce(warp, v, cg::plus<float>()), cg::reduce(warp, v * v, cg::plus<float>())};
  if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = s;
  block.sync();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 4; ++i) s.x += of_warp[i].x, s.y += of_warp[i].y;
    part[blockIdx.x * gridDim.y + blockIdx.y] = s;
  }
  cg::this_grid().sync();
  float sum = 0.f, squares = 0.f;
  for (unsigned i = 0; i < gridDim.y; ++i) {
    const float2 p = part[blockIdx.x * gridDim.y + i];
    sum += p.x, squares += p.y;
  }
  const float n = (float)inner * gridDim.y, mean = sum / n;
  if (threadIdx.x < inner) y[at] = (v - mean) * rsqrtf(squares / n - mean * mean + 1e-5f);
}
