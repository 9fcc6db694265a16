// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Discards the lines of its output: no write-back traffic, no output.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
  if (i % 32 == 0 && i + 32 <= n) asm volatile("discard.global.L2 [%0], 128;" ::"l"(y + i) : "memory");
}
