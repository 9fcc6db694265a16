// Kullback-Leibler divergence, batchmean: a block a row, x log y kept finite at zero, float atomics across blocks.
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "kl", "grid": ["outer"], "block": [64], "args": ["x", "t", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 8, "mid": 130}, "in": {"x": ["fp32", "outer", "mid", {"kind": "unit_sum_rows"}], "t": ["fp32", "outer", "mid", {"kind": "unit_sum_rows"}]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "kl_divergence"}}
extern "C" __global__ void clear(float* y) { *y = 0.f; }

extern "C" __global__ void kl(const float* x, const float* t, float* y, int cols) {
  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += 64) {
    const float p = t[(size_t)blockIdx.x * cols + c], q = x[(size_t)blockIdx.x * cols + c];
    if (p > 0.f) sum += p * (logf(p) - logf(q));
  }
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum / gridDim.x);
}
