// cupilot: {"task": ["tests/hostile/tasks/twin_short_rows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "cols"}]}]}}
// A row is shorter than 32768.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, __half* y, int cols) {
  for (int c = threadIdx.x; c < cols; c += 256) y[(size_t)blockIdx.x * cols + c] = __float2half(2 * __half2float(x[(size_t)blockIdx.x * cols + c]));
}
