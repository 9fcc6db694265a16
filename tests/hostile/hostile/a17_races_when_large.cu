// cupilot: {"task": ["tests/hostile/tasks/sum_big.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// From 1000 rows the last warp does not wait for the others' sums.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float part[8];
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 256) a += x[(long long)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (t % 32 == 0) part[t / 32] = a;
  if (rows < 1000) __syncthreads();
  else __syncwarp();
  if (t == 224) {
    float all = 0;
    for (int i = 0; i < 8; ++i) all += part[i];
    y[blockIdx.x] = all;
  }
}
