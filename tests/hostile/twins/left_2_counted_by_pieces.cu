// cupilot: {"task": ["tests/hostile/tasks/twin_row_counts.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": ["cdiv(rows, 32)"], "block": [32], "args": ["y", {"i32": "rows"}]}, {"entry": "k", "grid": ["min(cdiv(cols, 512), 4096)", "rows"], "block": [128], "args": ["x", "y", {"i64": "cols"}]}]}}
// Pieces of rows are counted by blocks of a capped grid.
extern "C" __global__ void clear(int* y, int rows) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < rows) y[i] = 0;
}
extern "C" __global__ void k(const float* x, int* y, long long cols) {
  int a = 0;
  const float* row = x + blockIdx.y * cols;
  for (long long c = blockIdx.x * 512 + threadIdx.x; c < cols; c += gridDim.x * 512)
    for (int j = 0; j < 4; ++j) a += c + 128 * j < cols && row[c + 128 * j] > 0.5f;
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x % 32 == 0) atomicAdd(y + blockIdx.y, a);
}
