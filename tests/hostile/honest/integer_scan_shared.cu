// cupilot: {"task": ["tests/hostile/tasks/integer_scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "scan", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// In place in shared memory: every value is read before any is written.
extern "C" __global__ void scan(const int* x, int* y, int cols) {
  __shared__ int sums[128];
  const int t = threadIdx.x;
  int before = 0;
  for (int from = 0; from < cols; from += 128) {
    const bool inside = from + t < cols;
    sums[t] = inside ? x[(long long)blockIdx.x * cols + from + t] : 0;
    __syncthreads();
    for (int distance = 1; distance < 128; distance *= 2) {
      const int left = t >= distance ? sums[t - distance] : 0;
      __syncthreads();
      sums[t] += left;
      __syncthreads();
    }
    if (inside) y[(long long)blockIdx.x * cols + from + t] = before + sums[t];
    before += sums[127];
    __syncthreads();
  }
}
