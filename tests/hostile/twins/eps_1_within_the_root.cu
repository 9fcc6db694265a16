// cupilot: {"task": ["tests/hostile/tasks/twin_norm_eps.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// Rows over the root of their mean square, with a small number under the root.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float part[4];
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c] * row[c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (t % 32 == 0) part[t / 32] = a;
  __syncthreads();
  const float scale = rsqrtf((part[0] + part[1] + part[2] + part[3]) / cols + 1e-6f);
  for (int c = t; c < cols; c += 128) y[(size_t)blockIdx.x * cols + c] = row[c] * scale;
}
