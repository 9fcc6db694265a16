// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 2)"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Half-warps shuffle a row each, but each names the other half.
extern "C" __global__ void k(const int* x, int* y, int rows, int cols) {
  const int lane = threadIdx.x % 16, row = blockIdx.x * 2 + threadIdx.x / 16;
  const unsigned mask = threadIdx.x < 16 ? 0xffff0000u : 0x0000ffffu;
  int sum = 0;
  for (int c = lane; row < rows && c < cols; c += 16) sum += x[(long long)row * cols + c];
  for (int h = 8; h > 0; h /= 2) sum += __shfl_xor_sync(mask, sum, h);
  if (lane == 0 && row < rows) y[row] = sum;
}
