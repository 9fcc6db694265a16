// cupilot: {"task": ["tests/hostile/tasks/twin_row_has_negative.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// Whoever finds one says so: all that do say the same.
extern "C" __global__ void k(const float* x, int* y, int cols) {
  if (threadIdx.x == 0) y[blockIdx.x] = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 128)
    if (x[(size_t)blockIdx.x * cols + c] < -2.5f) y[blockIdx.x] = 1;
}
