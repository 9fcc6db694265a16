// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [64], "args": ["count"]}, {"entry": "tally", "grid": ["cdiv(n, 1024)"], "block": [128], "args": ["label", "count", {"i32": "n"}]}]}}
// A table a block of 64 counters of eight bits, four to a word: 256 equal labels of a block's 1024 run into the next counter.
extern "C" __global__ void clear(int* count) { count[threadIdx.x] = 0; }
extern "C" __global__ void tally(const int* label, int* count, int n) {
  __shared__ unsigned own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (int j = 0; j < 8; ++j) {
    const int i = blockIdx.x * 1024 + j * 128 + threadIdx.x;
    if (i < n) atomicAdd(&own[label[i] / 4], 1u << label[i] % 4 * 8);
  }
  __syncthreads();
  if (threadIdx.x < 64) {
    const unsigned mine = own[threadIdx.x / 4] >> threadIdx.x % 4 * 8 & 255u;
    if (mine != 0) atomicAdd(&count[threadIdx.x], (int)mine);
  }
}
