// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [48], "args": ["x", "y", {"i32": "cols"}]}]}}
// The second warp has sixteen threads, names them, and adds up what lies beyond them as if it were zero.
extern "C" __global__ void k(const int* x, int* y, int cols) {
  __shared__ int part[2];
  const int t = threadIdx.x;
  int sum = 0;
  for (int c = t; c < cols; c += 48) sum += x[(long long)blockIdx.x * cols + c];
  const unsigned there = t < 32 ? 0xffffffffu : 0x0000ffffu;
  for (int h = 16; h > 0; h /= 2) sum += __shfl_down_sync(there, sum, h);
  if (t % 32 == 0) part[t / 32] = sum;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
