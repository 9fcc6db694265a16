// cupilot: {"task": ["tests/hostile/tasks/twin_bf16_centre.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 4)"], "block": [8, 4], "args": ["x", "y", {"i32": "rows"}]}]}}
// A mean of eight bf16 in bf16.
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* x, __nv_bfloat16* y, int rows) {
  const int r = blockIdx.x * 4 + threadIdx.y;
  if (r >= rows) return;
  __nv_bfloat16 s = x[r * 8];
  for (int c = 1; c < 8; ++c) s = __hadd(s, x[r * 8 + c]);
  y[r * 8 + threadIdx.x] = __hsub(x[r * 8 + threadIdx.x], __hmul(s, __float2bfloat16(0.125f)));
}
