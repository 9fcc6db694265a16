// Swish of bf16 storage: eight elements a 16-byte load, arithmetic in fp32.
// cupilot: {"plan": {"launches": [{"entry": "swish", "grid": ["cdiv(n, 1024)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["bf16", "n"]}, "out": {"y": ["bf16", "n"]}, "expect": {"y": "swish"}, "tolerance": 4e-3}
#include <cuda_bf16.h>

extern "C" __global__ void swish(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y, int n) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (i >= n) return;
  int4 packed = *reinterpret_cast<const int4*>(x + i);
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&packed);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float2 v = __bfloat1622float2(pairs[j]);
    v.x = v.x / (1.f + __expf(-v.x));
    v.y = v.y / (1.f + __expf(-v.y));
    pairs[j] = __float22bfloat162_rn(v);
  }
  *reinterpret_cast<int4*>(y + i) = packed;
}
