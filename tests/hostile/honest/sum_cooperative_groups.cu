// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// Tiles of a warp by cooperative_groups.h.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float part[2];
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  float sum = 0.0f;
  for (int c = block.thread_rank(); c < cols; c += block.size()) sum += x[(long long)blockIdx.x * cols + c];
  for (int distance = 16; distance > 0; distance /= 2) sum += warp.shfl_down(sum, distance);
  if (warp.thread_rank() == 0) part[warp.meta_group_rank()] = sum;
  block.sync();
  if (block.thread_rank() == 0) y[blockIdx.x] = part[0] + part[1];
}
