// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Threads take elements in the order in which they come to a counter of the block.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ int next;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  const int i = blockIdx.x * 128 + atomicAdd(&next, 1);
  if (i < n) y[i] = x[i];
}
