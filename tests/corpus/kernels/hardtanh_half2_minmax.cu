// HardTanh in place on fp16 pairs by packed minimum and maximum.
// cupilot: {"plan": {"launches": [{"entry": "hardtanh", "grid": ["cdiv(n, 512)"], "block": [256], "args": ["x", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1026}, "in_out": {"x": ["fp16", "n"]}, "expect": {"x": "hardtanh"}, "tolerance": 0}
#include <cuda_fp16.h>

extern "C" __global__ void hardtanh(__half2* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= n) return;
  x[i] = __hmax2(__float2half2_rn(-1.f), __hmin2(__float2half2_rn(1.f), x[i]));
}
