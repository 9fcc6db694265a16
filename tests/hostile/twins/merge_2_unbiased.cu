// cupilot: {"task": ["tests/hostile/tasks/twin_deviation.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// The unbiased variance of a row, two passes.
__device__ float all(float a) {
  __shared__ float s[4];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  __syncthreads();
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = a;
  __syncthreads();
  return s[0] + s[1] + s[2] + s[3];
}
extern "C" __global__ void k(const float* x, float* y, int cols) {
  const float* row = x + (size_t)blockIdx.x * cols;
  float a = 0, q = 0;
  for (int c = threadIdx.x; c < cols; c += 128) a += row[c];
  const float m = all(a) / cols;
  for (int c = threadIdx.x; c < cols; c += 128) q += (row[c] - m) * (row[c] - m);
  q = all(q);
  if (threadIdx.x == 0) y[blockIdx.x] = cols < 2 ? 0.0f : q / (cols - 1);
}
