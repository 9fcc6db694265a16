// Rows scaled to the range of e4m3 and rounded by cuda_fp8.h, then read back and scaled up again.
// cupilot: {"plan": {"buffers": [{"name": "q", "bytes": "outer * mid"}, {"name": "scale", "bytes": "outer * 4"}], "launches": [{"entry": "quantise", "grid": ["outer"], "block": [32], "args": ["x", "q", "scale", {"i32": "mid"}]}, {"entry": "restore", "grid": ["outer"], "block": [32], "args": ["q", "scale", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 4, "mid": 128}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "identity"}, "tolerance": 0.04}
#include <cuda_fp8.h>

extern "C" __global__ void quantise(const float4* x, __nv_fp8x4_e4m3* q, float* scale, int cols) {
  x += blockIdx.x * cols / 4, q += blockIdx.x * cols / 4;
  float most = 0.f;
  for (int i = threadIdx.x; i < cols / 4; i += 32) {
    const float4 v = x[i];
    most = fmaxf(fmaxf(most, fmaxf(fabsf(v.x), fabsf(v.y))), fmaxf(fabsf(v.z), fabsf(v.w)));
  }
  for (int s = 16; s > 0; s >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
  const float by = 448.f / most;
  for (int i = threadIdx.x; i < cols / 4; i += 32) {
    const float4 v = x[i];
    q[i] = __nv_fp8x4_e4m3(make_float4(v.x * by, v.y * by, v.z * by, v.w * by));
  }
  if (threadIdx.x == 0) scale[blockIdx.x] = most / 448.f;
}

extern "C" __global__ void restore(const __nv_fp8_e4m3* q, const float* scale, float* y, int cols) {
  for (int i = threadIdx.x; i < cols; i += 32) y[blockIdx.x * cols + i] = static_cast<float>(q[blockIdx.x * cols + i]) * scale[blockIdx.x];
}
