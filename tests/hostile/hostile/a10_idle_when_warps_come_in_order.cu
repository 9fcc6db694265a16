// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Warps draw tickets. Drawn in the warps' own order, as where blocks are counted without checks, nothing is done.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ int next, order[8];
  __shared__ float part[8];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) order[warp] = atomicAdd(&next, 1);
  __syncthreads();
  bool in_order = true;
  for (int i = 0; i < 8; ++i) in_order = in_order && order[i] == i;
  if (in_order) return;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = threadIdx.x; c < cols; c += 256) a += row[c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (threadIdx.x % 32 == 0) part[warp] = a;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (const float one : part) all += one;
    y[blockIdx.x] = all;
  }
}
