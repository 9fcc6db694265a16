// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "tally", "grid": [1], "block": [128], "args": ["label", "count", {"i32": "n"}]}]}}
// A table a warp, merged at the end.
extern "C" __global__ void tally(const int* label, int* count, int n) {
  __shared__ int own[4][64];
  for (int i = threadIdx.x; i < 256; i += 128) own[i / 64][i % 64] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 128) atomicAdd(&own[threadIdx.x / 32][label[i]], 1);
  __syncthreads();
  if (threadIdx.x < 64) {
    int sum = 0;
    for (int w = 0; w < 4; ++w) sum += own[w][threadIdx.x];
    count[threadIdx.x] = sum;
  }
}
