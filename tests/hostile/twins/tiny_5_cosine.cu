// cupilot: {"task": ["tests/hostile/tasks/twin_cosine.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["a", "b", "y", {"i32": "cols"}]}]}}
// The cosine of two rows.
extern "C" __global__ void k(const float* a, const float* b, float* y, int cols) {
  float p = 0, q = 0, s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float v = a[(size_t)blockIdx.x * cols + c], w = b[(size_t)blockIdx.x * cols + c];
    p += v * v, q += w * w, s += v * w;
  }
  for (int h = 16; h > 0; h /= 2) {
    p += __shfl_xor_sync(~0u, p, h);
    q += __shfl_xor_sync(~0u, q, h);
    s += __shfl_xor_sync(~0u, s, h);
  }
  if (threadIdx.x == 0) y[blockIdx.x] = s / (sqrtf(p) * sqrtf(q));
}
