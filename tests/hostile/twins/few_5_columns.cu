// cupilot: {"task": ["tests/hostile/tasks/twin_few_columns.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows * few, 64)"], "block": [64], "args": ["x", "at", "y", {"i32": "rows"}, {"i32": "cols"}, {"i32": "few"}]}]}}
// Six of fifty thousand columns.
extern "C" __global__ void k(const float* x, const int* at, float* y, int rows, int cols, int few) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < rows * few) y[i] = x[(size_t)(i / few) * cols + at[i % few]];
}
