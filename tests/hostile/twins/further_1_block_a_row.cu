// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row: no row that the task names turns the loop a third time.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float of_warp[8];
  float sum = 0.0f;
  int turn = 0;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += 256) {
    sum += x[(size_t)blockIdx.x * cols + c];
    ++turn;
  }
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = turn >= 0 ? sum : 0.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0.0f;
    for (int w = 0; w < 8; ++w) sum += of_warp[w];
    y[blockIdx.x] = sum;
  }
}
