// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Takes the number of the multiprocessor for the block's.
extern "C" __global__ void k(const int* x, int* y, int rows, int cols) {
  unsigned unit, units;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(units));
  const int t = threadIdx.x, row = blockIdx.x / units * units + unit;
  if (row >= rows) return;
  int sum = 0;
  for (int c = t; c < cols; c += 32) sum += x[(long long)row * cols + c];
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, h);
  if (t == 0) y[row] = sum;
}
