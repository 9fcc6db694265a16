// cupilot: {"task": ["tests/hostile/tasks/twin_two_steps.json"]}
// cupilot: {"plan": {"buffers": [{"name": "mid", "bytes": "n * 4"}, {"name": "met", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["min(cdiv(n, 256), dev.sms)"], "block": [256], "args": ["x", "mid", "y", "met", {"i32": "n"}]}]}}
// Two steps with a barrier of all blocks between; no more blocks than fit at once.
extern "C" __global__ void k(const int* x, int* mid, int* y, unsigned* met, int n) {
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) mid[i] = x[i] * 3;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(met, 1);
    while (*(volatile unsigned*)met < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) y[i] = x[i] + __ldcg(mid + n - 1 - i);
}
