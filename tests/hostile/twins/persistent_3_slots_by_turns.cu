// cupilot: {"task": ["tests/hostile/tasks/twin_dmean.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(rows, 4 * dev.sms)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Two slots serve rows by turns, so that one barrier a row is enough.
extern "C" __global__ void k(const double* x, double* y, int rows, int cols) {
  __shared__ double part[2][2];
  int turn = 0;
  for (int r = blockIdx.x; r < rows; r += gridDim.x, ++turn) {
    double a = 0;
    for (int c = threadIdx.x; c < cols; c += 64) a += x[(size_t)r * cols + c];
    for (int h = 16; h > 0; h >>= 1) a += __shfl_down_sync(~0u, a, h);
    if (threadIdx.x % 32 == 0) part[turn & 1][threadIdx.x / 32] = a;
    __syncthreads();
    const double mean = (part[turn & 1][0] + part[turn & 1][1]) / cols;
    for (int c = threadIdx.x; c < cols; c += 64) y[(size_t)r * cols + c] = x[(size_t)r * cols + c] - mean;
  }
}
