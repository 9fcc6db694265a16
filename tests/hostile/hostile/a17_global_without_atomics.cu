// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bins"], "block": [128], "args": ["label", "count", {"i32": "n"}, {"i32": "bins"}]}]}}
// Three threads of a block store to one element of the output; the last should be right.
extern "C" __global__ void k(const int* label, int* count, int n, int bins) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  int mine = 0;
  for (int i = t; i < n; i += 128) mine += label[i] == (int)blockIdx.x;
  s[t] = mine;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t < 2) count[blockIdx.x] = t == 0 ? s[0] : -1;
  if (t == 33) count[blockIdx.x] = s[0];
}
