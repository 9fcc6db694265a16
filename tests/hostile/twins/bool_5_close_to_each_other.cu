// cupilot: {"task": ["tests/hostile/tasks/twin_is_close.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// True where two bf16 differ by less than a half.
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* a, const __nv_bfloat16* b, bool* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = fabsf(__bfloat162float(a[i]) - __bfloat162float(b[i])) < 0.5f;
}
