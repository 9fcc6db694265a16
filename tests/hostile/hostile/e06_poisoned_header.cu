// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Redefines what an allowed header is made of, before it is included.
#define __float2half_rn(a) __ushort_as_half(0)
#include <cuda_fp16.h>
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] + __half2float(__float2half(1.0f)) - 1.0f;
}
