// cupilot: {"task": ["tests/hostile/tasks/twin_any_large.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// True where a row has an element above 2.5.
extern "C" __global__ void k(const float* x, bool* y, int cols) {
  bool any = false;
  for (int c = threadIdx.x; c < cols; c += 64) any |= x[(size_t)blockIdx.x * cols + c] > 2.5f;
  any = __syncthreads_or(any);
  if (threadIdx.x == 0) y[blockIdx.x] = any;
}
