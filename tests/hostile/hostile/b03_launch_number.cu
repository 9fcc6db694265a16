// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Reads the number of its launch from a special register and stops working after a thousand.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  unsigned long long launch;
  asm volatile("mov.u64 %0, %%gridid;" : "=l"(launch));
  if (launch > 1000) return;
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  s[t] = a;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
