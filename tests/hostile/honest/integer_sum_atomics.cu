// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["y", {"i32": "rows"}]}, {"entry": "sum_rows", "grid": ["cdiv(cols, 128)", "rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// Integer atomics to memory: any order gives the same bits.
extern "C" __global__ void clear(int* y, int rows) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row < rows) y[row] = 0;
}
extern "C" __global__ void sum_rows(const int* x, int* y, int cols) {
  const int c = blockIdx.x * 128 + threadIdx.x;
  if (c < cols) atomicAdd(&y[blockIdx.y], x[(long long)blockIdx.y * cols + c]);
}
