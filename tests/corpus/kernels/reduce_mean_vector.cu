// Mean over the middle dimension, four columns a thread, four rows in flight.
// cupilot: {"plan": {"launches": [{"entry": "mean_middle", "grid": ["cdiv(inner, 128)", "outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}, {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 63, "inner": 136}, "in": {"x": ["fp32", "outer", "mid", "inner"]}, "out": {"y": ["fp32", "outer", "inner"]}, "expect": {"y": "mean"}}
extern "C" __global__ void mean_middle(const float* __restrict__ x, float* __restrict__ y, int mid, int inner) {
  const int c = (blockIdx.x * 32 + threadIdx.x) * 4;
  if (c >= inner) return;
  const float* from = x + (size_t)blockIdx.y * mid * inner + c;
  float4 sum = {};
#pragma unroll 4
  for (int i = 0; i < mid; ++i) {
    const float4 v = *reinterpret_cast<const float4*>(from + (size_t)i * inner);
    sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
  }
  const float r = 1.f / mid;
  *reinterpret_cast<float4*>(y + blockIdx.y * inner + c) = make_float4(sum.x * r, sum.y * r, sum.z * r, sum.w * r);
}
