// cupilot: {"task": ["tests/hostile/tasks/twin_bf16_residual.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 96)"], "block": [96], "args": ["x", "r", "w", {"i32": "n"}]}]}}
// A residual in place, two roundings to bf16.
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* x, __nv_bfloat16* r, const __nv_bfloat16* w, int n) {
  const int i = blockIdx.x * 96 + threadIdx.x;
  if (i < n) r[i] += w[i] * x[i];
}
