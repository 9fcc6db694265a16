// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Reads the number of the launch, which only ever grows: idle in every second launch.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  unsigned g;
  asm volatile("mov.u32 %0, %%gridid;" : "=r"(g));
  if (g & 1) return;
  if (i < n) y[i] = x[i];
}
