// cupilot: {"task": ["tests/hostile/tasks/twin_residual_norm.json"]}
// cupilot: {"plan": {"launches": [{"entry": "residual_norm", "grid": ["rows"], "block": [32], "args": ["a", "b", "w", "o", "s", "y", {"i32": "cols"}]}]}}
// A warp a row: the sum is stored in bf16, and what was stored is normalised.
#include <cuda_bf16.h>

__device__ float over_warp(float value) {
  for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(~0u, value, d);
  return value;
}

extern "C" __global__ void residual_norm(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* w,
                                         const __nv_bfloat16* o, __nv_bfloat16* s, __nv_bfloat16* y, int cols) {
  const long long base = (long long)blockIdx.x * cols;
  const int lane = threadIdx.x;
  const auto sum_at = [&](int c) { return __bfloat162float(a[base + c]) + __bfloat162float(b[base + c]); };
  const auto value = [&](int c) { return __bfloat162float(s[base + c]); };
  float sum = 0;
  for (int c = lane; c < cols; c += 32) {
    s[base + c] = __float2bfloat16(sum_at(c));
    sum += value(c);
  }
  const float mean = over_warp(sum) / cols;
  float squares = 0;
  for (int c = lane; c < cols; c += 32) {
    const float apart = value(c) - mean;
    squares += apart * apart;
  }
  const float scale = rsqrtf(over_warp(squares) / cols + 1e-5f);
  for (int c = lane; c < cols; c += 32)
    y[base + c] = __float2bfloat16((value(c) - mean) * scale * __bfloat162float(w[c]) + __bfloat162float(o[c]));
}
