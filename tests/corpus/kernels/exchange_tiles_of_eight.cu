// Tiles of eight lanes reverse their part twice in shared memory, each tile synchronised by itself.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void scale(const float* x, float* y, int n) {
  __shared__ float there[64], back[64];
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int t = threadIdx.x, mirrored = t / 8 * 8 + 7 - tile.thread_rank();
  for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64) {
    there[t] = x[i];
    tile.sync();  // filled
    back[t] = there[mirrored] * 2.f;
    tile.sync();  // turned
    y[i] = back[mirrored];
  }
}
