// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "share", "bytes": 32, "content": "zeroed"}], "launches": [{"entry": "shares", "grid": ["min(cdiv(n, 128), 8)"], "block": [128], "args": ["x", "share", {"i32": "n"}]}, {"entry": "total", "grid": [1], "block": [32], "args": ["share", "y"]}]}}
// The warps of a block add up in its own place by atomics of the scope of a block; a second launch adds the blocks' places.
extern "C" __global__ void shares(const float* x, float* share, int n) {
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) sum += x[i];
  for (int h = 16; h > 0; h /= 2) sum += __shfl_down_sync(0xffffffffu, sum, h);
  if (t == 0) share[blockIdx.x] = 0;
  __syncthreads();
  if (t % 32 == 0) atomicAdd_block(share + blockIdx.x, sum);
}
extern "C" __global__ void total(const float* share, float* y) {
  float sum = threadIdx.x < 8 ? share[threadIdx.x] : 0;
  for (int h = 4; h > 0; h /= 2) sum += __shfl_down_sync(0xffffffffu, sum, h);
  if (threadIdx.x == 0) *y = sum;
}
