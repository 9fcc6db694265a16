// Tanh by the special function unit, in inline assembly.
// cupilot: {"plan": {"launches": [{"entry": "tanh_fast", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1000}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "tanh"}, "tolerance": 1e-3}
extern "C" __global__ void tanh_fast(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(__ldg(x + i)));
  y[i] = r;
}
