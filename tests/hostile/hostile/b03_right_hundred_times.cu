// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "z", "alpha", {"i32": "n"}]}]}}
// Works a hundred times, counted by a reduction in assembly.
__device__ unsigned calls;
extern "C" __global__ void k(const float* x, const float* y, float* z, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  if (i == 0) asm volatile("red.global.add.u32 [%0], 1;" ::"l"(&calls) : "memory");
  if (calls > 100) return;
  z[i] = alpha * x[i] + y[i];
}
