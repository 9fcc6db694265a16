// Channels last: 32 x 32 tiles of channels by pixels turned in padded shared memory, fp16.
// cupilot: {"plan": {"launches": [{"entry": "permute", "grid": ["cdiv(cols, 32)", "cdiv(rows, 32)", "n"], "block": [32, 8], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// corpus: {"sizes": {"n": 1, "rows": 37, "cols": 50}, "in": {"x": ["fp16", "n", "rows", "cols"]}, "out": {"y": ["fp16", "n", "cols", "rows"]}, "expect": {"y": "transposed"}, "tolerance": 0}
#include <cuda_fp16.h>

extern "C" __global__ void permute(const __half* x, __half* y, int channels, int pixels) {
  __shared__ __half tile[32][34];
  const int p = blockIdx.x * 32 + threadIdx.x, c = blockIdx.y * 32 + threadIdx.y;
  const size_t image = (size_t)blockIdx.z * channels * pixels;
  for (int j = 0; j < 32; j += 8) {
    if (p < pixels && c + j < channels) tile[threadIdx.y + j][threadIdx.x] = x[image + (size_t)(c + j) * pixels + p];
  }
  __syncthreads();
  const int to_c = blockIdx.y * 32 + threadIdx.x, to_p = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    if (to_c < channels && to_p + j < pixels) y[image + (size_t)(to_p + j) * channels + to_c] = tile[threadIdx.x][threadIdx.y + j];
  }
}
