// cupilot: {"task": ["tests/hostile/tasks/transpose.json"]}
// cupilot: {"plan": {"launches": [{"entry": "transpose", "grid": ["cdiv(cols, 32)", "cdiv(rows, 8)"], "block": [32, 8], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
  const int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
  if (r < rows && c < cols) y[(long long)c * rows + r] = x[(long long)r * cols + c];
}
