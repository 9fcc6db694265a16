// cupilot: {"task": ["tests/hostile/tasks/variance.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// E[x^2] - E[x]^2.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int r = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (r >= rows) return;
  const float* row = x + (long long)r * cols;
  float a = 0;
  for (int c = lane; c < cols; c += 32) a += row[c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  const float mean = a / cols;
  a = 0;
  for (int c = lane; c < cols; c += 32) a += row[c] * row[c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (lane == 0) y[r] = a / cols - mean * mean;
}
