// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// The block's sum by a function that is called, not inlined, with shared memory of its own.
__device__ __noinline__ float block_sum(float value) {
  __shared__ float part[64];
  part[threadIdx.x] = value;
  __syncthreads();
  float sum = 0.0f;
  if (threadIdx.x == 0) {
    for (int t = 0; t < 64; ++t) sum += part[t];
  }
  return sum;
}
__device__ __noinline__ float row_part(const float* line, int cols) {
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) sum += line[c];
  return sum;
}
extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  const float sum = block_sum(row_part(x + (long long)blockIdx.x * cols, cols));
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
