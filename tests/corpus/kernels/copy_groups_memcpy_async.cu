// cooperative_groups::memcpy_async of a whole tile, double buffered with wait_prior.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

extern "C" __global__ void scale(const float* x, float* y, int n) {
  constexpr int tile = 512;
  __shared__ alignas(16) float buffer[2][tile];
  const auto block = cg::this_thread_block();
  const int tiles = n / tile / gridDim.x;
  x += blockIdx.x * tiles * tile, y += blockIdx.x * tiles * tile;
  cg::memcpy_async(block, buffer[0], x, sizeof(buffer[0]));
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) {
      cg::memcpy_async(block, buffer[(i + 1) % 2], x + (i + 1) * tile, sizeof(buffer[0]));
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    for (int j = tile - 1 - block.thread_rank(); j >= 0; j -= block.size()) y[i * tile + j] = 2.f * buffer[i % 2][j];
    block.sync();
  }
}
