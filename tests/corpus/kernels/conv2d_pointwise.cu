// 1 x 1 convolution: a product of the filter matrix and the pixels, four pixels and four channels a thread.
// cupilot: {"plan": {"launches": [{"entry": "pointwise", "grid": ["cdiv(h * w, 128)", "cdiv(o, 4)", "n"], "block": [32], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "h * w"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 12, "o": 10, "h": 8, "w": 18}, "in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "o", "c"]}, "out": {"y": ["fp32", "n", "o", "h", "w"]}, "expect": {"y": "conv"}}
extern "C" __global__ void pointwise(const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y, int c, int o, int pixels) {
  const int p = (blockIdx.x * 32 + threadIdx.x) * 4, first = blockIdx.y * 4;
  if (p >= pixels) return;
  x += (size_t)blockIdx.z * c * pixels + p, y += (size_t)blockIdx.z * o * pixels + p;
  float4 sum[4] = {};
  for (int i = 0; i < c; ++i) {
    const float4 v = *reinterpret_cast<const float4*>(x + (size_t)i * pixels);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float t = first + k < o ? __ldg(f + (first + k) * c + i) : 0.f;
      sum[k].x = fmaf(t, v.x, sum[k].x), sum[k].y = fmaf(t, v.y, sum[k].y);
      sum[k].z = fmaf(t, v.z, sum[k].z), sum[k].w = fmaf(t, v.w, sum[k].w);
    }
  }
  for (int k = 0; k < 4 && first + k < o; ++k) *reinterpret_cast<float4*>(y + (size_t)(first + k) * pixels) = sum[k];
}
