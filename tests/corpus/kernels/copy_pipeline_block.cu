// cuda::pipeline of the block scope with two stages of cuda::memcpy_async.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

extern "C" __global__ void scale(const float* x, float* y, int n) {
  constexpr int stages = 2, tile = 256;
  __shared__ alignas(16) float buffer[stages][tile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int tiles = n / tile / gridDim.x, first = blockIdx.x * tiles;
  for (int i = 0, fetched = 0; i < tiles; ++i) {
    for (; fetched < tiles && fetched < i + stages; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[fetched % stages], x + (first + fetched) * tile, cuda::aligned_size_t<16>(tile * 4), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    for (int j = block.thread_rank(); j < tile; j += block.size()) y[(first + i) * tile + j] = 2.f * buffer[i % stages][j];
    pipe.consumer_release();
  }
}
