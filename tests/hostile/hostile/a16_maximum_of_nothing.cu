// cupilot: {"task": ["tests/hostile/tasks/row_max.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The maximum starts from a register that nobody wrote.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x, t = threadIdx.x;
  float most;
  for (int c = t; c < cols; c += 32) most = fmaxf(most, x[(long long)row * cols + c]);
  for (int h = 16; h > 0; h /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, h));
  if (t == 0) y[row] = most;
}
