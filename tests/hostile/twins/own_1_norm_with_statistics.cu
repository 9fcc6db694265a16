// cupilot: {"task": ["tests/hostile/tasks/twin_norm_stats.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "w", "y", "mean", "rstd", {"i32": "cols"}]}]}}
// A norm that keeps its statistics: these do not depend on w.
extern "C" __global__ void k(const float* x, const float* w, float* y, float* mean, float* rstd, int cols) {
  const float* p = x + (size_t)blockIdx.x * cols;
  float m = 0, v = 0;
  for (int c = threadIdx.x; c < cols; c += 32) m += p[c];
  for (int h = 16; h > 0; h /= 2) m += __shfl_xor_sync(~0u, m, h);
  m /= cols;
  for (int c = threadIdx.x; c < cols; c += 32) v += (p[c] - m) * (p[c] - m);
  for (int h = 16; h > 0; h /= 2) v += __shfl_xor_sync(~0u, v, h);
  const float r = 1 / sqrtf(v / cols + 1.0e-5f);
  for (int c = threadIdx.x; c < cols; c += 32) y[(size_t)blockIdx.x * cols + c] = (p[c] - m) * r * w[c];
  if (threadIdx.x == 0) mean[blockIdx.x] = m, rstd[blockIdx.x] = r;
}
