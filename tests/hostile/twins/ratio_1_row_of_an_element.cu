// cupilot: {"task": ["tests/hostile/tasks/twin_row_scale.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows * cols, 256)"], "block": [256], "args": ["x", "s", "y", {"i32": "rows * cols"}, {"i32": "cols"}]}]}}
// The row of an element is a whole quotient.
extern "C" __global__ void k(const float* x, const float* s, float* y, int n, int cols) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] * s[i / cols];
}
