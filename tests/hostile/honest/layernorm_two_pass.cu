// cupilot: {"task": ["tests/hostile/tasks/layernorm.json"]}
// cupilot: {"plan": {"launches": [{"entry": "layernorm", "grid": ["rows"], "block": [64], "args": ["x", "gain", "shift", "y", "epsilon", {"i32": "cols"}]}]}}
__device__ float block_sum(float value, float* of_warp) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  return of_warp[0] + of_warp[1];
}
extern "C" __global__ void layernorm(const float* x, const float* gain, const float* shift, float* y, float epsilon, int cols) {
  __shared__ float of_warp[2];
  const long long base = (long long)blockIdx.x * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) sum += x[base + c];
  const float mean = block_sum(sum, of_warp) / cols;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) squares += (x[base + c] - mean) * (x[base + c] - mean);
  const float deviation = sqrtf(block_sum(squares, of_warp) / cols + epsilon);
  for (int c = threadIdx.x; c < cols; c += 64) y[base + c] = (x[base + c] - mean) / deviation * gain[c] + shift[c];
}
