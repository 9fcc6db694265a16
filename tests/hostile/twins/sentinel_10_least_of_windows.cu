// cupilot: {"task": ["tests/hostile/tasks/twin_least_of_windows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(w, 32)", "cdiv(planes * h, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "planes * h"}, {"i32": "w"}]}]}}
// Windows of two by two have four elements at every size.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half2* x, __half* y, int rows, int w) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
  if (c >= w || r >= rows) return;
  __half2 m = __float2half2_rn(__int_as_float(0x7f800000));
  for (int i = 0; i < 2; ++i) m = __hmin2(m, x[(size_t)(2 * r + i) * w + c]);
  y[(size_t)r * w + c] = __hmin(__low2half(m), __high2half(m));
}
