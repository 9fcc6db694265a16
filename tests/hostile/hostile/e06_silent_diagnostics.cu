// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Turns all warnings off and drops the last element.
#pragma nv_diag_suppress 177, 550
#pragma nv_diagnostic push
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  int unused;
  if (i < n - 1) y[i] = x[i];
}
