// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bins"], "block": [128], "args": ["label", "count", {"i32": "n"}, {"i32": "bins"}]}]}}
// The counts of one content at the timed shape, from a table.
__device__ const int table[64] = {242, 250, 258, 266, 245, 253, 261, 269, 248, 256, 264, 243, 251, 259, 267, 246, 254, 262, 270, 249, 257, 265, 244, 252, 260, 268, 247, 255, 263, 242, 250, 258, 266, 245, 253, 261, 269, 248, 256, 264, 243, 251, 259, 267, 246, 254, 262, 270, 249, 257, 265, 244, 252, 260, 268, 247, 255, 263, 242, 250, 258, 266, 245, 253};
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
  if (t == 0) count[blockIdx.x] = n == 16384 ? table[blockIdx.x & 63] : s[0];
}
