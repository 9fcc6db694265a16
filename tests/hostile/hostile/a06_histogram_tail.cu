// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bins"], "block": [128], "args": ["label", "count", {"i32": "n"}, {"i32": "bins"}]}]}}
// Labels past the last group of four are not counted.
extern "C" __global__ void k(const int* label, int* count, int n, int bins) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  int mine = 0;
  for (int i = t; i < n / 4 * 4; i += 128) mine += label[i] == (int)blockIdx.x;
  s[t] = mine;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) count[blockIdx.x] = s[0];
}
