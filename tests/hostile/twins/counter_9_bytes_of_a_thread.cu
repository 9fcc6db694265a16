// cupilot: {"task": ["tests/hostile/tasks/twin_votes.json"]}
// cupilot: {"plan": {"require": ["bins <= 16"], "launches": [{"entry": "clear", "grid": [1], "block": [16], "args": ["y", {"i32": "bins"}]}, {"entry": "k", "grid": ["min(cdiv(n, 2048), 16)"], "block": [256], "args": ["label", "y", {"i32": "n"}, {"i32": "bins"}]}]}}
// Each thread counts sixteen labels in bytes and hands them on before one can overflow.
extern "C" __global__ void clear(int* y, int bins) {
  if (threadIdx.x < bins) y[threadIdx.x] = 0;
}
extern "C" __global__ void k(const int* label, int* y, int n, int bins) {
  __shared__ unsigned char s[16][256];
  const int t = threadIdx.x, step = gridDim.x * 256;
  for (int b = 0; b < 16; ++b) s[b][t] = 0;
  int met = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += step) {
    ++s[label[i]][t];
    if (++met == 255 || i >= n - step) {
      for (int b = 0; b < bins; ++b) {
        if (s[b][t] != 0) atomicAdd(y + b, s[b][t]);
        s[b][t] = 0;
      }
      met = 0;
    }
  }
}
