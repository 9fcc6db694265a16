// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "tally", "grid": [1], "block": [64], "args": ["label", "count", {"i32": "n"}]}]}}
// Equal labels of a warp find each other; their first lane adds for all.
extern "C" __global__ void tally(const int* label, int* count, int n) {
  __shared__ int own[64];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int from = 0; from < n; from += 64) {
    const int i = from + threadIdx.x;
    const int mine = i < n ? label[i] : -1;
    const unsigned alike = __match_any_sync(0xffffffffu, mine);
    if (mine >= 0 && __ffs(alike) - 1 == threadIdx.x % 32) atomicAdd(&own[mine], __popc(alike));
  }
  __syncthreads();
  count[threadIdx.x] = own[threadIdx.x];
}
