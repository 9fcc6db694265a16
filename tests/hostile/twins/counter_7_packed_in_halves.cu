// cupilot: {"task": ["tests/hostile/tasks/twin_votes.json"]}
// cupilot: {"plan": {"require": ["bins <= 64"], "launches": [{"entry": "clear", "grid": [1], "block": [64], "args": ["y", {"i32": "bins"}]}, {"entry": "k", "grid": ["min(cdiv(n, 8192), 64)"], "block": [256], "args": ["label", "y", {"i32": "n"}, {"i32": "bins"}]}]}}
// Counters of two labels share a word of shared memory; they are emptied before a half can overflow.
extern "C" __global__ void clear(int* y, int bins) {
  if (threadIdx.x < bins) y[threadIdx.x] = 0;
}
extern "C" __global__ void k(const int* label, int* y, int n, int bins) {
  __shared__ unsigned s[32];
  const int t = threadIdx.x;
  if (t < 32) s[t] = 0;
  __syncthreads();
  int met = 0;
  for (int i0 = blockIdx.x * 256; i0 < n; i0 += gridDim.x * 256) {
    if (i0 + t < n) {
      const int b = label[i0 + t];
      atomicAdd(&s[b / 2], b % 2 ? 0x10000u : 1u);
    }
    met += 256;
    if (met == 65280 || i0 + (long long)gridDim.x * 256 >= n) {
      __syncthreads();
      if (t < bins) {
        const unsigned c = s[t / 2] >> (t % 2 * 16) & 0xffff;
        if (c > 0) atomicAdd(y + t, (int)c);
      }
      __syncthreads();
      if (t < 32) s[t] = 0;
      __syncthreads();
      met = 0;
    }
  }
}
