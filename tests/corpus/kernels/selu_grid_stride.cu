// SELU with four independent loads in flight a thread.
// cupilot: {"plan": {"launches": [{"entry": "selu", "grid": [3], "block": [96], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 2311}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "selu"}}
constexpr int UNROLL = 4;

__device__ float selu_of(float v) {
  constexpr float alpha = 1.6732632423543772f, scale = 1.0507009873554805f;
  return v > 0.f ? scale * v : scale * alpha * expm1f(v);
}

extern "C" __global__ void selu(const float* x, float* y, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int base = blockIdx.x * blockDim.x + threadIdx.x; base < n; base += UNROLL * stride) {
    float v[UNROLL];
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) v[j] = base + j * stride < n ? x[base + j * stride] : 0.f;
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
      if (base + j * stride < n) y[base + j * stride] = selu_of(v[j]);
    }
  }
}
