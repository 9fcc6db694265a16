// cupilot: {"task": ["tests/hostile/tasks/twin_short_rows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// Columns are taken from the end.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, __half* y, int cols) {
  const size_t at = (size_t)blockIdx.x * cols;
  for (int c = cols - 1 - threadIdx.x; c >= 0; c -= 128) y[at + c] = __float2half(2 * __half2float(x[at + c]));
}
