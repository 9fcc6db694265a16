// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Takes the slot of a warp on its multiprocessor for its number in the block.
extern "C" __global__ void k(const int* x, int* y, int rows, int cols) {
  __shared__ int part[64];
  unsigned warp;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  const int t = threadIdx.x, row = blockIdx.x, lane = t % 32;
  int sum = 0;
  for (int c = warp * 32 + lane; c < cols; c += 128) sum += x[(long long)row * cols + c];
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, h);
  if (t < 64) part[t] = 0;
  __syncthreads();
  if (lane == 0) part[warp % 64] = sum;
  __syncthreads();
  if (t == 0) y[row] = part[0] + part[1] + part[2] + part[3];
}
