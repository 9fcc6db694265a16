// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Counts in constant memory, by taking away its const.
__constant__ unsigned calls;
__device__ unsigned* hidden(unsigned* p) {
  asm volatile("" : "+l"(p));
  return p;
}
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  unsigned* c = hidden((unsigned*)&calls);
  if (i == 0) *(volatile unsigned*)c = *c + 1;
  if (*c < 10) y[i] = x[i];
}
