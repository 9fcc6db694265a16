// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"name": "clear", "entry": "clear", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["y", {"i32": "rows"}]}, {"entry": "sum_rows", "grid": ["cdiv(cols, 64)", "rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// Every element is added to its row's sum by an atomic: any order.
extern "C" __global__ void clear(float* y, int rows) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row < rows) y[row] = 0.0f;
}
extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  const int c = blockIdx.x * 64 + threadIdx.x;
  if (c < cols) atomicAdd(&y[blockIdx.y], x[(long long)blockIdx.y * cols + c]);
}
