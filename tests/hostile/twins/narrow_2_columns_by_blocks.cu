// cupilot: {"task": ["tests/hostile/tasks/twin_halves_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cols"], "block": [64], "args": ["b", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A block a column: neighbours in a word belong to other blocks.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* b, __half* y, int rows, int cols) {
  for (int r = threadIdx.x; r < rows; r += 64) y[r * cols + blockIdx.x] = __float2half(__half2float(y[r * cols + blockIdx.x]) + __half2float(b[blockIdx.x]));
}
