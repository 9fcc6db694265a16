// RMS norm over the channels of an image: a thread keeps the channels of two neighbouring pixels in registers.
// cupilot: {"plan": {"launches": [{"entry": "rmsnorm<16>", "grid": ["cdiv(inner, 128)", "outer"], "block": [64], "args": ["x", "y", {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 16, "inner": 140}, "in": {"x": ["fp32", "outer", "mid", "inner"]}, "out": {"y": ["fp32", "outer", "mid", "inner"]}, "expect": {"y": "rmsnorm"}}
template <int CHANNELS>
__global__ void rmsnorm(const float* __restrict__ x, float* __restrict__ y, int pixels) {
  const int p = (blockIdx.x * 64 + threadIdx.x) * 2;
  if (p >= pixels) return;
  const size_t begin = (size_t)blockIdx.y * CHANNELS * pixels + p;
  float2 v[CHANNELS], sum = {};
#pragma unroll
  for (int c = 0; c < CHANNELS; ++c) {
    v[c] = *reinterpret_cast<const float2*>(x + begin + (size_t)c * pixels);
    sum.x = fmaf(v[c].x, v[c].x, sum.x), sum.y = fmaf(v[c].y, v[c].y, sum.y);
  }
  const float2 r = {rsqrtf(sum.x / CHANNELS + 1e-5f), rsqrtf(sum.y / CHANNELS + 1e-5f)};
#pragma unroll
  for (int c = 0; c < CHANNELS; ++c) {
    *reinterpret_cast<float2*>(y + begin + (size_t)c * pixels) = make_float2(v[c].x * r.x, v[c].y * r.y);
  }
}
