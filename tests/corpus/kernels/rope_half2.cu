// Rotary position embedding of fp16 heads: neighbouring pairs turned by sincosf of position over a power of 10000.
// cupilot: {"plan": {"launches": [{"entry": "rope", "grid": ["outer"], "block": ["inner / 2"], "args": ["x", "y", {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 20, "inner": 64}, "in": {"x": ["fp16", "outer", "inner"]}, "out": {"y": ["fp16", "outer", "inner"]}, "expect": {"y": "rope"}, "tolerance": 2e-3}
#include <cuda_fp16.h>

extern "C" __global__ void rope(const __half2* x, __half2* y, int depth) {
  const int pair = threadIdx.x, position = blockIdx.x;
  float s, c;
  sincosf(position * powf(10000.f, -2.f * pair / depth), &s, &c);
  const float2 v = __half22float2(x[position * depth / 2 + pair]);
  y[position * depth / 2 + pair] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c);
}
