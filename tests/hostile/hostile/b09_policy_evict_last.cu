// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Asks L2 to keep its input for later launches. The sums are right: the hint is recorded, and a scrubbed L2 keeps
// nothing.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  float a = 0;
  for (int c = t; c < cols; c += 128) {
    float v;
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(row + c), "l"(policy));
    a += v;
  }
  s[t] = a;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
