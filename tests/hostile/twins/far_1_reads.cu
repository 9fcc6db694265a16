// cupilot: {"task": ["tests/hostile/tasks/twin_double_many.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// A row a block.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  const size_t at = (size_t)blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 32) y[at + c] = 2 * x[at + c];
}
