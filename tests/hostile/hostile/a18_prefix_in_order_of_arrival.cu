// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Prefix sums as the running total at the moment a thread arrives.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 128) {
    const float v = x[(long long)blockIdx.x * cols + c];
    y[(long long)blockIdx.x * cols + c] = atomicAdd(&total, v) + v;
  }
}
