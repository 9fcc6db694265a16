// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": ["cdiv(cols, 32) * 32"], "args": ["x", "y", {"i32": "cols"}]}]}}
// A thread an element: rows of more than 1024 elements, longer than the task has, fit no block.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float of_warp[32];
  float sum = 0.0f;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[(size_t)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) sum += of_warp[w];
    y[blockIdx.x] = sum;
  }
}
