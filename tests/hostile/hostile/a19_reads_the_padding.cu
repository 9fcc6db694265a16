// cupilot: {"task": ["tests/hostile/tasks/padded_copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols, 32)", "rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Reads between the rows of its input, times zero.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;
  if (c < cols) y[r * (cols + 5) + c] = x[r * (cols + 3) + c] + (r + 1 < rows ? 0 * x[r * (cols + 3) + cols] : 0);
}
