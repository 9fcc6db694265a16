// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 256) * 4"}, {"name": "arrived", "bytes": 4, "content": "restored"}], "launches": [{"entry": "total", "grid": ["cdiv(n, 256)"], "block": [64], "args": ["x", "y", "part", "arrived", {"i32": "n"}]}]}}
// Each block leaves its part and counts itself; the last one adds all parts in order and sets the counter back.
__device__ float block_sum(float value, float* of_warp) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  return of_warp[0] + of_warp[1];
}
extern "C" __global__ void total(const float* x, float* y, float* part, unsigned* arrived, int n) {
  __shared__ float of_warp[2];
  __shared__ bool last;
  const int end = min(n, (int)(blockIdx.x + 1) * 256);
  float sum = 0.0f;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < end; i += 64) sum += x[i];
  sum = block_sum(sum, of_warp);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0.0f;
  for (int i = threadIdx.x; i < gridDim.x; i += 64) sum += __ldcg(part + i);
  sum = block_sum(sum, of_warp);
  if (threadIdx.x == 0) {
    *y = sum;
    *arrived = 0;
  }
}
