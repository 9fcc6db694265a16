// cupilot: {"task": ["tests/hostile/tasks/twin_half_axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "b", "y", {"i32": "n"}]}]}}
// A multiplication and an addition in halves.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, const __half* b, __half* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = __hfma(x[i], __float2half(1.5f), b[i]);
}
