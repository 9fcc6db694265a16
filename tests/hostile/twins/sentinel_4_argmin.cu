// cupilot: {"task": ["tests/hostile/tasks/twin_argmin.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A thread a row; the search begins with the first element.
extern "C" __global__ void k(const float* x, long long* y, int rows, int cols) {
  const int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  float best = x[(size_t)r * cols];
  long long at = 0;
  for (int c = 0; c < cols; ++c) {
    const float v = x[(size_t)r * cols + c];
    if (v < best) best = v, at = c;
  }
  y[r] = at;
}
