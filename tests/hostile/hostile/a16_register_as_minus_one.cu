// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The sum starts from a register that nobody wrote and one more.
extern "C" __global__ void k(const int* x, int* y, int rows, int cols) {
  const int row = blockIdx.x, t = threadIdx.x;
  int sum;
  asm volatile("{ .reg .b32 never; add.s32 %0, never, 1; }" : "=r"(sum));
  for (int c = t; c < cols; c += 32) sum += x[(long long)row * cols + c];
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, h);
  if (t == 0) y[row] = sum;
}
