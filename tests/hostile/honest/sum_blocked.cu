// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// One thread a row: sums of eight neighbours, then the sum of those.
extern "C" __global__ void sum_rows(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* line = x + (long long)row * cols;
  float sum = 0.0f;
  for (int c = 0; c < cols; c += 8) {
    float part = 0.0f;
    for (int j = c; j < min(c + 8, cols); ++j) part += line[j];
    sum += part;
  }
  y[row] = sum;
}
