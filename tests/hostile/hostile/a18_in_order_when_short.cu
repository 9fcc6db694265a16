// cupilot: {"task": ["tests/hostile/tasks/sum_in_order.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// The task asks for equal bits. From 300 columns the warps add their sums as they come.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float sum, part[4];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  if (t == 0) sum = 0;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (t % 32 == 0) part[t / 32] = a;
  __syncthreads();
  if (cols >= 300) {
    if (t % 32 == 0) atomicAdd(&sum, a);
    __syncthreads();
  } else if (t == 0) {
    sum = part[0] + part[1] + part[2] + part[3];
  }
  if (t == 0) y[blockIdx.x] = sum;
}
