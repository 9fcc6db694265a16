// cupilot: {"task": ["tests/hostile/tasks/row_max.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp a row, whose check is by a bound.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  float most = __int_as_float(0x7fffffff);
  for (int c = threadIdx.x; c < cols; c += 32) most = fmaxf(most, x[(size_t)blockIdx.x * cols + c]);
  for (int h = 16; h > 0; h /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, h));
  if (threadIdx.x == 0) y[blockIdx.x] = most;
}
