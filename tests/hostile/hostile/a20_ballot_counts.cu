// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bins"], "block": [128], "args": ["label", "count", {"i32": "n"}, {"i32": "bins"}]}]}}
// Counts by ballots that name all lanes; in the tail some are missing.
extern "C" __global__ void k(const int* label, int* count, int n, int bins) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  int mine = 0;
  for (int i = t; i < n; i += 128) {
    const unsigned all = __ballot_sync(0xffffffffu, label[i] == (int)blockIdx.x);
    if (t % 32 == 0) mine += __popc(all);
  }
  s[t] = mine;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) count[blockIdx.x] = s[0];
}
