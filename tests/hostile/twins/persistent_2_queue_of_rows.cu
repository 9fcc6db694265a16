// cupilot: {"task": ["tests/hostile/tasks/twin_isum.json"]}
// cupilot: {"plan": {"buffers": [{"name": "next", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["min(rows, 2 * dev.sms)"], "block": [96], "args": ["x", "y", "next", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Blocks draw rows from a queue; the number drawn is told in shared memory.
extern "C" __global__ void k(const int* x, int* y, int* next, int rows, int cols) {
  __shared__ int row, sum;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) {
      row = atomicAdd(next, 1);
      sum = 0;
    }
    __syncthreads();
    if (row >= rows) return;
    int a = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) a += x[(size_t)row * cols + c];
    atomicAdd(&sum, a);
    __syncthreads();
    if (threadIdx.x == 32) y[row] = sum;
  }
}
