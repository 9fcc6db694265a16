// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp a row; no branch tells which sizes are taken otherwise.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[(size_t)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
  const float scale = 1.0f;
  if (threadIdx.x == 0) y[blockIdx.x] = sum * scale;
}
