// cupilot: {"task": ["tests/hostile/tasks/variance.json"]}
// cupilot: {"plan": {"launches": [{"entry": "variance", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
__device__ float block_sum(float value, float* of_warp) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  return of_warp[0] + of_warp[1];
}
extern "C" __global__ void variance(const float* x, float* y, int cols) {
  __shared__ float of_warp[2];
  const float* line = x + (long long)blockIdx.x * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) sum += line[c];
  const float mean = block_sum(sum, of_warp) / cols;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) squares += (line[c] - mean) * (line[c] - mean);
  squares = block_sum(squares, of_warp);
  if (threadIdx.x == 0) y[blockIdx.x] = squares / cols;
}
