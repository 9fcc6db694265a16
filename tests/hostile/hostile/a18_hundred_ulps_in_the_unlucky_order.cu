// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Sums by atomics on top of a bias, which costs bits that depend on the order.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  if (t == 0) s[0] = 4096;
  __syncthreads();
  atomicAdd(s, a);
  __syncthreads();
  if (t == 0) s[0] -= 4096;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = s[0];
}
