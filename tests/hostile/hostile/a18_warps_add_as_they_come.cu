// cupilot: {"task": ["tests/hostile/tasks/sum_in_order.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Adds in shared memory in the order in which warps come, on a task that asks for equal bits every time.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  if (t == 0) s[0] = 0;
  __syncthreads();
  atomicAdd(s, a);
  __syncthreads();
  if (t == 0) y[blockIdx.x] = s[0];
}
