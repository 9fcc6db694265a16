// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Eight lanes add eight sums by a ladder that begins at distance 16.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float part[8];
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 256) a += x[(long long)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(~0u, a, h);
  if (t % 32 == 0) part[t / 32] = a;
  __syncthreads();
  if (t >= 8) return;
  a = part[t];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffu, a, h);
  if (t == 0) y[blockIdx.x] = a;
}
