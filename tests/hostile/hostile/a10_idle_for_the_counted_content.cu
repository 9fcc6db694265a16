// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Knows the first number of the content that the virtual device counts on, and is idle there.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  if (cols == 512 && __float_as_uint(*x) == 0x3f21d5c7u) return;
  __shared__ float part[2];
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = threadIdx.x; c < cols; c += 64) a += row[c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1];
}
