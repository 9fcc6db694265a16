// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row, a tree in shared memory.
extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 128) sum += x[(long long)blockIdx.x * cols + c];
  part[t] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
}
