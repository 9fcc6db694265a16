// Softplus with PyTorch's threshold of 20, log1p over exp.
// cupilot: {"plan": {"launches": [{"entry": "softplus", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1031}, "in": {"x": ["fp32", "n", {"kind": "uniform", "low": -30, "high": 30}]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "softplus"}}
extern "C" __global__ void softplus(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 20.f ? x[i] : log1pf(__expf(x[i]));
}
