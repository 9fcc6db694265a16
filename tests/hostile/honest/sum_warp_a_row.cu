// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["cdiv(rows, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row, four rows a block, a butterfly of shuffles.
extern "C" __global__ void sum_rows(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[(long long)row * cols + c];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x == 0) y[row] = sum;
}
