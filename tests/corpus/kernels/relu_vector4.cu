// ReLU, four elements a thread, the tail by the last threads.
// cupilot: {"plan": {"launches": [{"entry": "relu", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4099}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "relu"}, "tolerance": 0}
extern "C" __global__ void relu(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n) {
    const float4 v = *reinterpret_cast<const float4*>(x + i);
    *reinterpret_cast<float4*>(y + i) = make_float4(fmaxf(v.x, 0.f), fmaxf(v.y, 0.f), fmaxf(v.z, 0.f), fmaxf(v.w, 0.f));
  } else {
    for (int j = i; j < n; ++j) y[j] = fmaxf(x[j], 0.f);
  }
}
