// cupilot: {"task": ["tests/hostile/tasks/sum_in_order.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Lanes of one warp add to one float by atomics.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float sum;
  const int row = blockIdx.x, t = threadIdx.x;
  if (t == 0) sum = 0;
  __syncthreads();
  float own = 0;
  for (int c = t; c < cols; c += 32) own += x[(long long)row * cols + c];
  atomicAdd(&sum, own);
  __syncthreads();
  if (t == 0) y[row] = sum;
}
