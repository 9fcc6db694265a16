// Weights of four bits, two a byte, made fp16 by lop3 on the exponent of 1024 (no conversion instruction), groups of 32 share a scale.
// cupilot: {"plan": {"launches": [{"entry": "gemv", "grid": ["m"], "block": [32], "args": ["w", "s", "x", "y", {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 6, "k": 256}, "in": {"w": ["u8", "m", "k / 2", {"kind": "integers", "below": 256}], "s": ["fp16", "m", "k / 32"], "x": ["fp16", "k"]}, "out": {"y": ["fp32", "m"]}, "expect": {"y": "gemv_int4"}, "tolerance": 2e-3}
#include <cuda_fp16.h>

// Nibbles 0 and 4 of `q` as fp16 pairs, less 8.
__device__ __half2 two_nibbles(unsigned q) {
  unsigned r;
  asm("lop3.b32 %0, %1, 0x000f000f, 0x64006400, 0xea;" : "=r"(r) : "r"(q));
  return __hsub2(reinterpret_cast<const __half2&>(r), __float2half2_rn(1032.f));
}

extern "C" __global__ void gemv(const unsigned* w, const __half* s, const __half* x, float* y, int k) {
  const int row = blockIdx.x, lane = threadIdx.x;
  float sum = 0.f;
  for (int i = lane; i < k / 8; i += 32) {
    const unsigned q = w[row * k / 8 + i];
    const __half* from = x + i * 8;
    float part = 0.f;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 v = __half22float2(two_nibbles(q >> 4 * j));
      part = fmaf(v.x, __half2float(from[j]), fmaf(v.y, __half2float(from[j + 4]), part));
    }
    sum = fmaf(part, __half2float(s[row * k / 32 + i / 4]), sum);
  }
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}
