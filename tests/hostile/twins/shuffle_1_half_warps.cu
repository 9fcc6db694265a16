// cupilot: {"task": ["tests/hostile/tasks/twin_isum_short.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 2)"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A row a half of a warp, each with a mask of its own.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int half = threadIdx.x / 16, lane = threadIdx.x % 16, r = blockIdx.x * 2 + half;
  const unsigned mask = 0xffffu << (16 * half);
  float a = 0;
  if (half == 0) {
    for (int c = lane; c < cols; c += 16) a += x[r * cols + c];
    for (int h = 8; h > 0; h /= 2) a += __shfl_down_sync(mask, a, h);
  } else {
    for (int c = lane; r < rows && c < cols; c += 16) a += x[r * cols + c];
    for (int h = 8; h > 0; h /= 2) a += __shfl_down_sync(mask, a, h, 16);
  }
  if (lane == 0 && r < rows) y[r] = a;
}
