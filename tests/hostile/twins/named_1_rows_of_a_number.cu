// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A thread a row; where there are 53 rows the sum is begun by another element.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  const float* p = x + (size_t)row * cols;
  float sum = 0.0f;
  const int first = rows == 53 ? cols - 1 : 0;
  for (int c = first; c < cols; ++c) sum += p[c];
  for (int c = 0; c < first; ++c) sum += p[c];
  y[row] = sum;
}
