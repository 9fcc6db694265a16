// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Comments out the store in the assembly alone.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float v = 0;
  if (i < n) v = x[i];
  asm volatile("/*");
  if (i < n) y[i] = v;
  asm volatile("*/");
}
