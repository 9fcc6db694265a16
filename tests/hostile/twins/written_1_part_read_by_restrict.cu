// cupilot: {"task": ["tests/hostile/tasks/twin_long_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 1024) * 4"}, {"name": "done", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "part", "done", "y", {"i32": "n"}]}]}}
// The last block to finish adds up the parts of all.
__device__ int added(const int* part, int count) {
  int a = 0;
  for (int i = threadIdx.x; i < count; i += 256) a += part[i];
  return a;
}
extern "C" __global__ void k(const int* x, int* part, unsigned* done, int* y, int n) {
  __shared__ int s[8];
  __shared__ bool last;
  const int t = threadIdx.x;
  int a = 0;
  for (int j = 0; j < 4; ++j)
    if (blockIdx.x * 1024 + j * 256 + t < n) a += x[blockIdx.x * 1024 + j * 256 + t];
  a = __reduce_add_sync(~0u, a);
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t == 0) {
    part[blockIdx.x] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
    __threadfence();
    last = atomicAdd(done, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  a = __reduce_add_sync(~0u, added(part, gridDim.x));
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t == 0) *y = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}
