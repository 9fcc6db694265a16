// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row: every thread strides over it, one thread adds the 128 partial sums.
extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float part[128];
  const float* line = x + (long long)blockIdx.x * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 128) sum += line[c];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0.0f;
    for (int t = 0; t < 128; ++t) all += part[t];
    y[blockIdx.x] = all;
  }
}
