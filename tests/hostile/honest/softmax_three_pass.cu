// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "softmax", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row; the row is read for its largest, for the sum and for the result.
template <class Merge>
__device__ float block_reduce(float value, float* of_warp, Merge merge) {
  for (int distance = 16; distance > 0; distance /= 2) value = merge(value, __shfl_xor_sync(0xffffffffu, value, distance));
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  return merge(of_warp[0], of_warp[1]);
}
extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float of_warp[2];
  const float* in = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float largest = __int_as_float(0xff800000);
  for (int c = threadIdx.x; c < cols; c += 64) largest = fmaxf(largest, in[c]);
  largest = block_reduce(largest, of_warp, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) sum += expf(in[c] - largest);
  sum = block_reduce(sum, of_warp, [](float a, float b) { return a + b; });
  for (int c = threadIdx.x; c < cols; c += 64) out[c] = expf(in[c] - largest) / sum;
}
