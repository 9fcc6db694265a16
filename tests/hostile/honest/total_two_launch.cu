// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 512) * 4"}], "launches": [{"name": "parts", "entry": "parts", "grid": ["cdiv(n, 512)"], "block": [128], "args": ["x", "part", {"i32": "n"}]}, {"entry": "finish", "grid": [1], "block": [32], "args": ["part", "y", {"i32": "cdiv(n, 512)"}]}]}}
// Partial sums into a workspace; a second launch adds them.
__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}
extern "C" __global__ void parts(const float* x, float* part, int n) {
  __shared__ float of_warp[4];
  const int end = min(n, (int)(blockIdx.x + 1) * 512);
  float sum = 0.0f;
  for (int i = blockIdx.x * 512 + threadIdx.x; i < end; i += 128) sum += x[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) part[blockIdx.x] = (of_warp[0] + of_warp[1]) + (of_warp[2] + of_warp[3]);
}
extern "C" __global__ void finish(const float* part, float* y, int count) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < count; i += 32) sum += part[i];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) *y = sum;
}
