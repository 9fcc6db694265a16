// cupilot: {"task": ["tests/hostile/tasks/twin_cumulated.json"]}
// cupilot: {"plan": {"buffers": [{"name": "count", "bytes": "bins * 4", "content": "zeroed"}, {"name": "done", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "count", "done", "y", {"i32": "n"}, {"i32": "bins"}]}]}}
// The last block to come adds the counts up.
extern "C" __global__ void k(const int* x, int* count, int* done, int* y, int n, int bins) {
  __shared__ bool last;
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) atomicAdd(&count[x[i]], 1);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(done, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (threadIdx.x == 0)
    for (int b = 0, s = 0; b < bins; ++b) y[b] = s += count[b];
}
