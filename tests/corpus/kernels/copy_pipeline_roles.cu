// cuda::pipeline with roles: one warp produces, two warps consume.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [96], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

extern "C" __global__ void scale(const float* x, float* y, int n) {
  constexpr int stages = 3, tile = 128;
  __shared__ alignas(16) float buffer[stages][tile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  const auto block = cg::this_thread_block();
  const bool produces = block.thread_rank() < 32;
  auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int tiles = n / tile / gridDim.x, first = blockIdx.x * tiles, t = block.thread_rank();
  for (int i = 0; i < tiles; ++i) {
    if (produces) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[i % stages][t * 4], x + (first + i) * tile + t * 4, cuda::aligned_size_t<16>(16), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      for (int j = t - 32; j < tile; j += 64) y[(first + i) * tile + j] = 2.f * buffer[i % stages][j];
      pipe.consumer_release();
    }
  }
}
