// cupilot: {"task": ["tests/hostile/tasks/twin_gated.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "g", "y", {"i32": "n"}]}]}}
// The gate is the softplus of the second input, which overflows nowhere.
extern "C" __global__ void k(const float* x, const float* g, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float v = g[i];
  y[i] = x[i] * (fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v))));
}
