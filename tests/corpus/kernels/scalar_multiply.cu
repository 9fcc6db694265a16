// A matrix times a scalar that lies in device memory: one broadcast load, vectors of four.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": ["cdiv(m * n, 1024)"], "block": [256], "args": ["x", "s", "y", {"i64": "m * n"}]}]}}
// corpus: {"sizes": {"m": 24, "n": 68}, "in": {"x": ["fp32", "m", "n"], "s": ["fp32", "1"]}, "out": {"y": ["fp32", "m", "n"]}, "expect": {"y": "scaled"}}
extern "C" __global__ void scale(const float4* __restrict__ x, const float* __restrict__ s, float4* __restrict__ y, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (4 * i >= n) return;
  const float by = __ldg(s);
  float4 v = x[i];
  v.x *= by, v.y *= by, v.z *= by, v.w *= by;
  y[i] = v;
}
