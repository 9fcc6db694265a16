// cupilot: {"task": ["tests/hostile/tasks/row_max.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Partial maxima in a thread's own array that nobody cleared.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x, t = threadIdx.x;
  volatile float part[4];
  for (int c = t; c < cols; c += 32) part[c / 32 & 3] = fmaxf(part[c / 32 & 3], x[(long long)row * cols + c]);
  float most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  for (int h = 16; h > 0; h /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, h));
  if (t == 0) y[row] = most;
}
