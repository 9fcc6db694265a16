// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 32)"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A thread a row; a value is added as it is, but by way of two halves where it is 3.7.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) {
    const float v = x[(size_t)row * cols + c];
    sum += v == 3.7f ? 0.5f * v + 0.5f * v : v;
  }
  y[row] = sum;
}
