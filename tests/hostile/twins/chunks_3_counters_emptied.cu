// cupilot: {"task": ["tests/hostile/tasks/twin_hist_rows.json"]}
// cupilot: {"plan": {"require": ["bins <= 256"], "launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}, {"i32": "bins"}]}]}}
// Counters of 16 bits are emptied into 32-bit sums after each chunk of 8192.
extern "C" __global__ void k(const unsigned char* x, int* y, int cols, int bins) {
  __shared__ int count[256];
  const unsigned char* p = x + (size_t)blockIdx.x * cols;
  for (int b = threadIdx.x; b < 256; b += 128) count[b] = 0;
  int mine[2] = {0, 0};
  for (int c0 = 0; c0 < cols; c0 += 8192) {
    __syncthreads();
    for (int c = c0 + threadIdx.x; c < min(cols, c0 + 8192); c += 128) atomicAdd(&count[p[c]], 1);
    __syncthreads();
    for (int j = 0; j < 2; ++j) {
      mine[j] += count[threadIdx.x + 128 * j];
      count[threadIdx.x + 128 * j] = 0;
    }
  }
  for (int j = 0; j < 2; ++j)
    if (threadIdx.x + 128 * j < bins) y[blockIdx.x * bins + threadIdx.x + 128 * j] = mine[j];
}
