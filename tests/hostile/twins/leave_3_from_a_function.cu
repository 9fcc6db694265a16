// cupilot: {"task": ["tests/hostile/tasks/twin_block_maximum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 96)"], "block": [96], "args": ["x", "y", {"i32": "n"}]}]}}
// A function that returns early for some; an atomic on shared memory.
__device__ __forceinline__ void work(const int* x, int* y, int n, int* most) {
  const int i = blockIdx.x * 96 + threadIdx.x;
  if (threadIdx.x == 0) *most = 0;
  if (i >= n) return;
  __syncthreads();
  atomicMax(most, x[i]);
  __syncthreads();
  y[i] = *most;
}
extern "C" __global__ void k(const int* x, int* y, int n) {
  __shared__ int most;
  work(x, y, n, &most);
}
