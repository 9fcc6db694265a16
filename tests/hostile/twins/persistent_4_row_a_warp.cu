// cupilot: {"task": ["tests/hostile/tasks/twin_warprows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(rows, 4), 100)"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row, and on by all warps of the grid; lanes meet by warp barriers alone.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, __half* y, int rows, int cols) {
  __shared__ float lane_sum[4][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int r = blockIdx.x * 4 + warp; r < rows; r += gridDim.x * 4) {
    float a = 0;
    for (int c = lane; c < cols; c += 32) a += __half2float(x[(size_t)r * cols + c]);
    lane_sum[warp][lane] = a;
    __syncwarp();
    float s = 0;
    for (int i = 0; i < 32; ++i) s += lane_sum[warp][i];
    for (int c = lane; c < cols; c += 32) y[(size_t)r * cols + c] = __float2half(__half2float(x[(size_t)r * cols + c]) + s);
    __syncwarp();
  }
}
