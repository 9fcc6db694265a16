// diag(a) times b without the diagonal matrix: one factor a row.
// cupilot: {"plan": {"launches": [{"entry": "diagonal", "grid": ["m"], "block": [128], "args": ["a", "b", "d", {"i32": "n"}]}]}}
// corpus: {"sizes": {"m": 9, "n": 260}, "in": {"a": ["fp32", "m"], "b": ["fp32", "m", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "diagonal"}}
extern "C" __global__ void diagonal(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d, int n) {
  const float factor = a[blockIdx.x];
  const float2* from = reinterpret_cast<const float2*>(b + (size_t)blockIdx.x * n);
  float2* to = reinterpret_cast<float2*>(d + (size_t)blockIdx.x * n);
  for (int i = threadIdx.x; i < n / 2; i += blockDim.x) to[i] = make_float2(factor * from[i].x, factor * from[i].y);
}
