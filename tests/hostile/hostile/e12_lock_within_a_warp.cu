// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// All lanes of a warp wait for a lock that one of them holds.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  __shared__ int lock;
  if (threadIdx.x == 0) lock = 0;
  __syncthreads();
  while (atomicCAS(&lock, 0, 1) != 0) {}
  __syncwarp();
  atomicExch(&lock, 0);
  if (i < n) y[i] = x[i];
}
