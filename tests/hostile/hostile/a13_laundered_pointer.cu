// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The pointer passes through assembly; what is written is what stood there.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float* w;
  asm volatile("mov.b64 %0, %1;" : "=l"(w) : "l"(x));
  y[i] = x[i];
  if (i == n - 1) w[i] = y[i];
}
