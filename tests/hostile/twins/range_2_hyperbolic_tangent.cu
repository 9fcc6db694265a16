// cupilot: {"task": ["tests/hostile/tasks/twin_tanh_gate.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "g", "y", {"i32": "n"}]}]}}
// A tangent by one exponential that never overflows.
extern "C" __global__ void k(const float* x, const float* g, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + tanhf(g[i]);
}
