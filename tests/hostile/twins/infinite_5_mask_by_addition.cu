// cupilot: {"task": ["tests/hostile/tasks/twin_additive_mask.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "keep", "y", {"i32": "cols"}]}]}}
// What is not kept has minus infinity added.
extern "C" __global__ void k(const float* x, const bool* keep, float* y, int cols) {
  float m = -100.0f;
  for (int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, x[(size_t)blockIdx.x * cols + c] + (keep[(size_t)blockIdx.x * cols + c] ? 0.0f : __int_as_float(0xff800000)));
  for (int h = 16; h > 0; h /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, h));
  if (threadIdx.x == 0) y[blockIdx.x] = expf(m / 100.0f);
}
