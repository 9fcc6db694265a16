// cupilot: {"task": ["tests/hostile/tasks/twin_ratio_of.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Quotients.
extern "C" __global__ void k(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = a[i] / b[i];
}
