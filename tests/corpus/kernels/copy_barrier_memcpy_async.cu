// cuda::memcpy_async bound to a cuda::barrier, then arrive_and_wait.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": ["n / 512"], "block": [64], "args": ["x", "y"]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cooperative_groups.h>
#include <cuda/barrier>

extern "C" __global__ void scale(const float* x, float* y) {
  __shared__ alignas(16) float tile[512];
  __shared__ cuda::barrier<cuda::thread_scope_block> landed;
  const auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() == 0) init(&landed, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, x + blockIdx.x * 512, sizeof(tile), landed);
  landed.arrive_and_wait();
  for (int i = block.thread_rank(); i < 512; i += block.size()) y[blockIdx.x * 512 + i] = 2.f * tile[i];
}
