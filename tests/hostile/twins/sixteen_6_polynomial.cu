// cupilot: {"task": ["tests/hostile/tasks/twin_half_polynomial.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "w", "y", {"i32": "n"}]}]}}
// A polynomial in halves, each of its four operations rounded.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, const __half* w, __half* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  const __half factor = __hadd(__hmul(x[i], w[i]), __float2half(0.5f));
  const __half product = __hmul(factor, x[i]);
  y[i] = __hadd(product, w[i]);
}
