// cupilot: {"task": ["tests/hostile/tasks/padded_copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols + 5, 32)", "rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Writes between the rows of its output: bytes that belong to somebody else.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;
  if (c < cols) y[r * (cols + 5) + c] = x[r * (cols + 3) + c];
  else if (c < cols + 5 && r + 1 < rows) y[r * (cols + 5) + c] = 0;
}
