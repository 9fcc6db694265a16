// cupilot: {"task": ["tests/hostile/tasks/twin_log_of_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 32)"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A thread a row, in one pass.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  float top = x[(size_t)r * cols], sum = expf(top - top);
  for (int c = 1; c < cols; ++c) {
    const float v = x[(size_t)r * cols + c];
    const float m = fmaxf(v, top);
    sum = sum * expf(top - m) + expf(v - m);
    top = m;
  }
  y[r] = top + logf(sum);
}
