// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "cols"}]}]}}
// Honest: the first lane of each warp adds to a plain sum under a lock, with fences.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float sum;
  __shared__ int lock;
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 256) a += x[(long long)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (t == 0) sum = 0, lock = 0;
  __syncthreads();
  if (t % 32 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence_block();
    sum += a;
    __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  if (t == 0) y[blockIdx.x] = sum;
}
