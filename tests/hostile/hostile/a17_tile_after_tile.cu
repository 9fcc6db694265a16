// cupilot: {"task": ["tests/hostile/tasks/sum_long.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [512], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A row is summed by tiles of 512 in shared memory; no barrier keeps the next tile from overwriting one that is still summed.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[512];
  const int t = threadIdx.x;
  float a = 0;
  for (int first = 0; first < cols; first += 512) {
    tile[t] = first + t < cols ? x[(long long)blockIdx.x * cols + first + t] : 0.0f;
    __syncthreads();
    for (int i = t * 16 % 512; t < 32 && i < t * 16 + 16; ++i) a += tile[i];
  }
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (t == 0) y[blockIdx.x] = a;
}
