// Tanh from one exponential, with the sign put back: stable for large arguments.
// cupilot: {"plan": {"launches": [{"entry": "tanh_by_exp", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 777}, "in": {"x": ["fp32", "n", {"kind": "normal", "high": 3}]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "tanh"}}
extern "C" __global__ void tanh_by_exp(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float e = __expf(-2.f * fabsf(x[i]));
  y[i] = copysignf(__fdividef(1.f - e, 1.f + e), x[i]);
}
