// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Half the block waits at a barrier that the other half waits for elsewhere.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x < 128) asm volatile("bar.sync 1, 256;"); else asm volatile("bar.sync 2, 256;");
  if (i < n) y[i] = x[i];
}
