// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Adds in bf16.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  unsigned short b = 0;
  for (int c = t; c < cols; c += 128) asm("{.reg .b16 u; cvt.rn.bf16.f32 u, %1; add.rn.bf16 %0, %0, u;}" : "+h"(b) : "f"(row[c]));
  s[t] = __uint_as_float((unsigned)b << 16);
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
