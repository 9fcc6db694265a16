// cupilot: {"task": ["tests/hostile/tasks/twin_rows_summed.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 8)"], "block": [256], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A row a warp, eight a block.
#include <cuda_fp16.h>
extern "C" __global__ void k(const half* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const half* line = x + (size_t)row * cols;
  float sum = 0;
  for (int c = lane; c < cols; c += 32) sum += __half2float(line[c]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) y[row] = sum;
}
