// cupilot: {"task": ["tests/hostile/tasks/padded_copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols + 5, 32)", "rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Copies a pitch instead of a row: right elements, and the gap of the input in the gap of the output.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;
  if (c < cols + (r + 1 < rows ? 3 : 0)) y[r * (cols + 5) + c] = x[r * (cols + 3) + c];
}
