// cupilot: {"task": ["tests/hostile/tasks/sum_in_order.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": ["cdiv(rows, 128)"], "block": [128], "args": ["y", {"i32": "rows"}]}, {"entry": "k", "grid": ["rows", "cdiv(cols, 32)"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Adds by atomics in the order of arrival, on a task that asks for equal bits every time.
extern "C" __global__ void clear(float* y, int rows) {
  const int r = blockIdx.x * 128 + threadIdx.x;
  if (r < rows) y[r] = 0;
}
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.y * 32 + threadIdx.x;
  float a = c < cols ? x[(long long)blockIdx.x * cols + c] : 0;
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (threadIdx.x == 0) atomicAdd(y + blockIdx.x, a);
}
