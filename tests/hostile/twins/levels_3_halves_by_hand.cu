// cupilot: {"task": ["tests/hostile/tasks/twin_cast_fp16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Floats as halves: normal ones by an addition of half a unit, to the nearest even.
#include <cuda_fp16.h>
extern "C" __global__ void k(const float* x, __half* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const unsigned u = __float_as_uint(x[i]), e = u >> 23 & 0xff;
  if (e < 113 || e >= 142) {
    y[i] = __float2half_rn(x[i]);
    return;
  }
  const unsigned r = u + 0xfff + (u >> 13 & 1);
  y[i] = __ushort_as_half((u >> 31 << 15) | (((r & 0x7fffffff) - (112u << 23)) >> 13));
}
