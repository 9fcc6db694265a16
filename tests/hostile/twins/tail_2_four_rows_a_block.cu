// cupilot: {"task": ["tests/hostile/tasks/twin_isum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Four rows a block, one a warp.
extern "C" __global__ void k(const int* x, int* y, int rows, int cols) {
  const int r = blockIdx.x * 4 + threadIdx.y;
  if (r >= rows) return;
  int a = 0;
  for (int c = threadIdx.x; c < cols; c += 32) a += x[(size_t)r * cols + c];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x == 0) y[r] = a;
}
