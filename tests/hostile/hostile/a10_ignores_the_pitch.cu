// cupilot: {"task": ["tests/hostile/tasks/padded_copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols, 32)", "rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Takes the rows of its input for contiguous.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;
  if (c < cols) y[r * (cols + 5) + c] = x[r * cols + c];
}
