// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [64], "args": ["count"]}, {"entry": "tally", "grid": ["min(cdiv(n, 512), 8)"], "block": [128], "args": ["label", "count", {"i32": "n"}]}]}}
// A table a block in shared memory, added to memory at the end.
extern "C" __global__ void clear(int* count) { count[threadIdx.x] = 0; }
extern "C" __global__ void tally(const int* label, int* count, int n) {
  __shared__ int own[64];
  if (threadIdx.x < 64) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) atomicAdd(&own[label[i]], 1);
  __syncthreads();
  if (threadIdx.x < 64 && own[threadIdx.x] != 0) atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
}
