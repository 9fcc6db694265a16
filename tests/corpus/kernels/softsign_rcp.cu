// Softsign with the approximate reciprocal and one Newton step.
// cupilot: {"plan": {"launches": [{"entry": "softsign", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 900}, "in": {"x": ["fp32", "n", {"kind": "normal", "high": 4}]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "softsign"}}
extern "C" __global__ void softsign(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float d = 1.f + fabsf(x[i]);
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  r = fmaf(fmaf(-d, r, 1.f), r, r);
  y[i] = x[i] * r;
}
