// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "softmax", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row: whole rounds of four elements a thread, then single ones in a loop that was unrolled by hand.
__device__ float over_block(float value, float* of_warp, bool sum) {
  for (int d = 16; d > 0; d /= 2) {
    const float other = __shfl_xor_sync(~0u, value, d);
    value = sum ? value + other : fmaxf(value, other);
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = sum ? of_warp[0] + of_warp[1] : fmaxf(of_warp[0], of_warp[1]);
  __syncthreads();
  return value;
}

extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float of_warp[2];
  const float* from = x + (long long)blockIdx.x * cols;
  float* to = y + (long long)blockIdx.x * cols;
  const int whole = cols / 256 * 256;
  float largest = from[0];
  for (int c = threadIdx.x; c < whole; c += 256)
    for (int k = 0; k < 4; ++k) largest = fmaxf(largest, from[c + 64 * k]);
  const int c = whole + threadIdx.x;
  if (c < cols) {
    largest = fmaxf(largest, from[c]);
    if (c + 64 < cols) largest = fmaxf(largest, from[c + 64]);
    if (c + 128 < cols) largest = fmaxf(largest, from[c + 128]);
    if (c + 192 < cols) largest = fmaxf(largest, from[c + 192]);
  }
  largest = over_block(largest, of_warp, false);
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += 64) sum += expf(from[i] - largest);
  sum = over_block(sum, of_warp, true);
  for (int i = threadIdx.x; i < cols; i += 64) to[i] = expf(from[i] - largest) / sum;
}
