// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bins"], "block": [128], "args": ["label", "count", {"i32": "n"}, {"i32": "bins"}]}]}}
// Half of the labels are counted, twice.
extern "C" __global__ void k(const int* label, int* count, int n, int bins) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  int mine = 0;
  for (int i = t; i < n / 2; i += 128) mine += label[i] == (int)blockIdx.x;
  s[t] = mine;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) count[blockIdx.x] = 2 * s[0] + n % 2;
}
