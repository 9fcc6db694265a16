// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// The warp's own integer reduction, and a shared integer atomic.
extern "C" __global__ void sum_rows(const int* x, int* y, int cols) {
  __shared__ int all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  int sum = 0;
  for (int c = threadIdx.x; c < cols; c += 64) sum += x[(long long)blockIdx.x * cols + c];
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x % 32 == 0) atomicAdd(&all, sum);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}
