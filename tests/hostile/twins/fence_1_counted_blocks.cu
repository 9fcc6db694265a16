// cupilot: {"task": ["tests/hostile/tasks/twin_centred.json"]}
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": "4", "content": "zeroed"}, {"name": "come", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["min(cdiv(n, 256), dev.sms)"], "block": [256], "args": ["x", "sum", "come", "y", {"i32": "n"}], "cooperative": true}]}}
// A barrier of the grid by a counter: all blocks are resident.
extern "C" __global__ void k(const float* x, float* sum, unsigned* come, float* y, int n) {
  __shared__ float part[8];
  float a = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) a += x[i];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) a += part[w];
    atomicAdd(sum, a);
    __threadfence();
    atomicAdd(come, 1);
    while (*(volatile unsigned*)come < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  const float mean = *(volatile float*)sum / n;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) y[i] = x[i] - mean;
}
