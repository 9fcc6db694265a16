// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Reads the wall clock and now and then does nothing.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (now % 1000003 == 7) return;
  y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678118654752f));
}
