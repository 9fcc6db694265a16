// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "4 * 4"}, {"name": "arrived", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "total", "grid": [4], "block": [64], "cooperative": true, "args": ["x", "y", "part", "arrived", {"i32": "n"}]}]}}
// All four blocks are resident and meet at a barrier of the whole grid.
__device__ void grid_barrier(unsigned* arrived, unsigned blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < blocks) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void total(const float* x, float* y, float* part, unsigned* arrived, int n) {
  __shared__ float of_warp[2];
  float sum = 0.0f;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += x[i];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) part[blockIdx.x] = of_warp[0] + of_warp[1];
  grid_barrier(arrived, gridDim.x);
  if (blockIdx.x == 0 && threadIdx.x == 0) *y = (__ldcg(part) + __ldcg(part + 1)) + (__ldcg(part + 2) + __ldcg(part + 3));
}
