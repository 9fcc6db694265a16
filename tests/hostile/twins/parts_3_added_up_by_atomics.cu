// cupilot: {"task": ["tests/hostile/tasks/twin_total_of_5e9.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "k", "grid": ["cdiv(n, 4096)"], "block": [256], "args": ["x", "y", {"i64": "n"}]}]}}
// Blocks of 4096 elements add their sums by atomics.
extern "C" __global__ void clear(long long* y) { *y = 0; }
extern "C" __global__ void k(const signed char* x, long long* y, long long n) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int a = 0;
  for (int j = 0; j < 16; ++j) {
    const long long i = (long long)blockIdx.x * 4096 + j * 256 + threadIdx.x;
    if (i < n) a += x[i];
  }
  atomicAdd(&sum, a);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd((unsigned long long*)y, (unsigned long long)(long long)sum);
}
