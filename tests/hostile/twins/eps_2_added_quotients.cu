// cupilot: {"task": ["tests/hostile/tasks/twin_added_quotients.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "a", "b", "y", {"i32": "n"}]}]}}
// The quotient overflows before it is halved.
extern "C" __global__ void k(const float* x, const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + 0.5f * (a[i] / b[i]);
}
