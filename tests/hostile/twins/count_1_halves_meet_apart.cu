// cupilot: {"task": ["tests/hostile/tasks/twin_isum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// Two halves of a block add up their columns, each with a barrier of its own.
extern "C" __global__ void k(const int* x, int* y, int cols) {
  __shared__ int s[2][64];
  __shared__ int of_half[2];
  const int half = threadIdx.x / 64, t = threadIdx.x % 64;
  int a = 0;
  for (int c = threadIdx.x; c < cols; c += 128) a += x[(size_t)blockIdx.x * cols + c];
  s[half][t] = a;
  for (int h = 32; h > 0; h /= 2) {
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    if (t < h) s[half][t] += s[half][t + h];
  }
  if (t == 0) of_half[half] = s[half][0];
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = of_half[0] + of_half[1];
}
