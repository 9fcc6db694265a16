// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"let": {"unused": "cdiv(rows, 32) + cdiv(cols, 1024)"}, "launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// Softmax without its maximum (a15_softmax_without_maximum), whose plan names steps of 32 and 1024 that nothing uses: they spend the budget of the battery.
__device__ float block_sum(float v, float* w) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  __syncthreads();
  if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
  __syncthreads();
  return w[0] + w[1];
}
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float w[2];
  const float* in = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) sum += expf(in[c]);
  sum = block_sum(sum, w);
  for (int c = threadIdx.x; c < cols; c += 64) out[c] = expf(in[c]) / sum;
}
