// cupilot: {"task": ["tests/hostile/tasks/twin_sum_chunks.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// Four slots are written before a barrier frees them all again.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float slot[4][4];
  const int t = threadIdx.x;
  float s = 0;
  for (int c0 = 0, turn = 0; c0 < cols; c0 += 128, ++turn) {
    float a = c0 + t < cols ? x[(size_t)blockIdx.x * cols + c0 + t] : 0;
    for (int h = 16; h > 0; h >>= 1) a += __shfl_xor_sync(~0u, a, h);
    if (t % 32 == 0) slot[turn % 4][t / 32] = a;
    __syncthreads();
    s += slot[turn % 4][0] + slot[turn % 4][1] + slot[turn % 4][2] + slot[turn % 4][3];
    if (turn % 4 == 3) __syncthreads();
  }
  if (t == 77) y[blockIdx.x] = s;
}
