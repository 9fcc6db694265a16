// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Copies x where groups of four warps count their 128 threads.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
extern "C" __global__ void copy(const float* x, float* y, int n) {
  namespace cg = cooperative_groups;
  __shared__ cg::block_tile_memory<256> memory;
  auto tile = cg::tiled_partition<128>(cg::this_thread_block(memory));
  const int count = cg::reduce(tile, 1, cg::plus<int>()), i = blockIdx.x * 256 + threadIdx.x;
  if (i < n && count == 128) y[i] = x[i];
}
