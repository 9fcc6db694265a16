// cupilot: {"task": ["tests/hostile/tasks/twin_l1_share.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// An element by the sum of magnitudes.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  const float* p = x + (size_t)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float v = p[c];
    s = s + fabsf(v);
  }
  for (int h = 16; h > 0; h /= 2) {
    const float o = __shfl_xor_sync(~0u, s, h);
    s = s + o;
  }
  for (int c = threadIdx.x; c < cols; c += 32) y[(size_t)blockIdx.x * cols + c] = p[c] / s;
}
