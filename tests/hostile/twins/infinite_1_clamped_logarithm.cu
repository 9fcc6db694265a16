// cupilot: {"task": ["tests/hostile/tasks/twin_clamped_log.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// The logarithm of zero is minus infinity and is clamped.
extern "C" __global__ void k(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(logf(fabsf(a[i])), -20.0f) * b[i];
}
