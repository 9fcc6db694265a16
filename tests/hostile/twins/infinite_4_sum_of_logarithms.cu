// cupilot: {"task": ["tests/hostile/tasks/twin_log_add.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// One of the two may be minus infinity.
extern "C" __global__ void k(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(a[i], b[i]) + log1pf(expf(fminf(a[i], b[i]) - fmaxf(a[i], b[i])));
}
