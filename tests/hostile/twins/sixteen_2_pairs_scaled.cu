// cupilot: {"task": ["tests/hostile/tasks/twin_bf16_gate.json"]}
// cupilot: {"plan": {"require": ["n % 2 == 0"], "launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [64], "args": ["x", "g", "y", {"i32": "n"}]}]}}
// Pairs of bf16, multiplied and added as such.
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat162* x, const __nv_bfloat162* g, __nv_bfloat162* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (2 * i < n) y[i] = __hadd2(__hmul2(x[i], g[i]), x[i]);
}
