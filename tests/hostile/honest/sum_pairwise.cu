// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["cdiv(rows, 32)"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// One thread a row; equal numbers of terms are added to each other, as in a binary counter: level[i] holds a sum of 2^i terms.
extern "C" __global__ void sum_rows(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float level[24];
  for (int c = 0; c < cols; ++c) {
    float sum = x[(long long)row * cols + c];
    int at = 0;
    for (int bits = c; bits & 1; bits >>= 1) sum = level[at++] + sum;
    level[at] = sum;
  }
  float sum = 0.0f;
  for (int at = 0; at < 24; ++at) {
    if ((cols >> at) & 1) sum += level[at];
  }
  y[row] = sum;
}
