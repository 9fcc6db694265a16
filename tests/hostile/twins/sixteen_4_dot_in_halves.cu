// cupilot: {"task": ["tests/hostile/tasks/twin_half_dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 32)"], "block": [32], "args": ["a", "b", "y", {"i32": "rows"}, {"i32": "k"}]}]}}
// Products added up in halves.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* a, const __half* b, __half* y, int rows, int k) {
  const int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  __half s = __float2half(0.0f);
  for (int c = 0; c < k; ++c) s = __hfma(a[r * k + c], b[c], s);
  y[r] = s;
}
