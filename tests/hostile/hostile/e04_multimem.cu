// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Reaches the other devices of the host.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 0;" ::"l"(y + i) : "memory");
  if (i < n) y[i] = x[i];
}
