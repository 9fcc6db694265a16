// cupilot: {"task": ["tests/hostile/tasks/twin_isum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(rows, 2), 150)"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Each half of a block walks over rows of its own, by a barrier of its own.
extern "C" __global__ void k(const int* x, int* y, int rows, int cols) {
  __shared__ int slot[2][2];
  const int half = threadIdx.x / 64, t = threadIdx.x % 64;
  for (int r = blockIdx.x * 2 + half; r < rows; r += gridDim.x * 2) {
    int a = 0;
    for (int c = t; c < cols; c += 64) a += x[(size_t)r * cols + c];
    a = __reduce_add_sync(~0u, a);
    if (t % 32 == 0) slot[half][t / 32] = a;
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    if (t == 40) y[r] = slot[half][0] + slot[half][1];
    asm volatile("bar.sync %0, 64;" ::"r"(half + 3) : "memory");
  }
}
