// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 128) * 4"}, {"name": "met", "bytes": 4, "content": "restored"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [32], "args": ["x", "part", "met", "y", {"i32": "n"}]}]}}
// As CUDA's guide and its sample of a fence have it: a fence before an atomic of no stated order, none behind it.
extern "C" __global__ void k(const int* x, volatile int* part, unsigned* met, int* y, int n) {
  __shared__ bool last;
  int a = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 128); i += 32) a += x[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = a;
    __threadfence();
    last = atomicInc(met, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  a = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += 32) a += part[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x == 0) *y = a;
}
