// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row by two buffers of 256 elements: the third part takes the first's again.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float part[2][256], of_warp[4];
  const float* p = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
#pragma unroll 1
  for (int first = 0, turn = 0; first < cols; first += 256, ++turn) {
    float* const mine = part[turn % 2];
    for (int c = threadIdx.x; c < 256; c += 128) mine[c] = first + c < cols ? p[first + c] : 0.0f;
    __syncthreads();
    for (int c = threadIdx.x; c < 256; c += 128) sum += mine[c ^ 1];
  }
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];
}
