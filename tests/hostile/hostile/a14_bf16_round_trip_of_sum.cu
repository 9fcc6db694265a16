// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Partial sums pass through bf16.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  s[t] = a;
  asm("{.reg .b16 h; cvt.rn.bf16.f32 h, %1; .reg .b32 w; .reg .b16 z; mov.b16 z, 0; mov.b32 w, {z, h}; mov.b32 %0, w;}" : "=f"(s[t]) : "f"(a));
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
