// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 1024) * 4"}, {"name": "done", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "part", "done", "y", {"i32": "n"}]}]}}
// The block that finishes last adds up the parts of all.
extern "C" __global__ void k(const int* x, int* part, unsigned* done, int* y, int n) {
  __shared__ int of_warp[8];
  __shared__ bool last;
  int a = 0;
  for (int j = 0; j < 4; ++j) {
    const int i = blockIdx.x * 1024 + j * 256 + threadIdx.x;
    if (i < n) a += x[i];
  }
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0) {
    a = 0;
    for (int w = 0; w < 8; ++w) a += of_warp[w];
    part[blockIdx.x] = a;
    __threadfence();
    last = atomicInc(done, gridDim.x) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  a = 0;
  for (int b = 0; b < gridDim.x; ++b) a += part[b];
  *y = a;
}
