// cupilot: {"task": ["tests/hostile/tasks/twin_bins_of_floats.json"]}
// cupilot: {"plan": {"require": ["bins <= 32"], "launches": [{"entry": "clear", "grid": [1], "block": [32], "args": ["y", {"i32": "bins"}]}, {"entry": "k", "grid": ["min(cdiv(n, 2048), 4)"], "block": [256], "args": ["x", "y", {"i32": "n"}, {"i32": "bins"}]}]}}
// Counts of values by their fifth of five bits.
using Count = unsigned;
extern "C" __global__ void clear(int* y, int bins) {
  if (threadIdx.x < bins) y[threadIdx.x] = 0;
}
extern "C" __global__ void k(const float* x, int* y, int n, int bins) {
  __shared__ Count s[32];
  const int t = threadIdx.x;
  if (t < 32) s[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
    const float v = x[i] * 32.0f;
    if (v >= 0.0f && v < bins) atomicAdd(&s[(int)v], 1u);
  }
  __syncthreads();
  if (t < bins) atomicAdd(y + t, (int)s[t]);
}
