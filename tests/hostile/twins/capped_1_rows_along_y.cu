// cupilot: {"task": ["tests/hostile/tasks/twin_negate_rows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols, 32)", "min(rows, 65535)"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Rows lie along y, of which a grid has 65535, and each thread walks over rows.
extern "C" __global__ void k(const signed char* x, signed char* y, int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x;
  for (int r = blockIdx.y; r < rows && c < cols; r += gridDim.y) y[(size_t)r * cols + c] = 7 - x[(size_t)r * cols + c];
}
