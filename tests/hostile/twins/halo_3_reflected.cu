// cupilot: {"task": ["tests/hostile/tasks/twin_reflected.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows * (cols + 5), 128)"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Columns beyond the ends are reflected; less than four columns have none to reflect.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * (cols + 5)) return;
  int c = i % (cols + 5) - 2;
  if (c < 0) c = -c;
  if (c >= cols) c = 2 * cols - 2 - c;
  y[i] = x[i / (cols + 5) * cols + c];
}
