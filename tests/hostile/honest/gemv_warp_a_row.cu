// cupilot: {"task": ["tests/hostile/tasks/gemv.json"]}
// cupilot: {"plan": {"launches": [{"entry": "gemv", "grid": ["cdiv(rows, 4)"], "block": [32, 4], "args": ["a", "x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
extern "C" __global__ void gemv(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += __ldg(a + (long long)row * cols + c) * __ldg(x + c);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x == 0) y[row] = sum;
}
