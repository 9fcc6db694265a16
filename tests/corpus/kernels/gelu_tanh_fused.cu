// The GELU of GPT-2 (by tanh), fused into one pass with the tanh of the hardware.
// cupilot: {"plan": {"launches": [{"entry": "new_gelu", "grid": ["cdiv(n, 512)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 2048}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "gelu_by_tanh"}, "tolerance": 1e-3}
__device__ __forceinline__ float tanh_hw(float v) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

__device__ __forceinline__ float new_gelu_of(float v) {
  return 0.5f * v * (1.f + tanh_hw(0.7978845608f * fmaf(0.044715f * v, v * v, v)));
}

extern "C" __global__ void __launch_bounds__(128) new_gelu(const float4* __restrict__ x, float4* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i >= n) return;
  const float4 v = __ldcs(x + i);
  __stcs(y + i, make_float4(new_gelu_of(v.x), new_gelu_of(v.y), new_gelu_of(v.z), new_gelu_of(v.w)));
}
