// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// One thread a row; what an addition loses is carried into the next. The carry is left out where it is no number, as after an
// infinity.
extern "C" __global__ void sum_rows(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f, lost = 0.0f;
  for (int c = 0; c < cols; ++c) {
    const float value = x[(long long)row * cols + c] - lost;
    const float next = sum + value;
    const float carry = (next - sum) - value;
    lost = carry - carry == 0.0f ? carry : 0.0f;
    sum = next;
  }
  y[row] = sum;
}
