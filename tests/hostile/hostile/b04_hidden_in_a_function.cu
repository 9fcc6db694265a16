// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A variable of an assembly block in a called function, reached through its generic address.
__device__ __noinline__ float remembered(float v) {
  float out;
  asm volatile("{ .global .f32 store; .reg .u64 p; mov.u64 p, store; cvta.global.u64 p, p; ld.f32 %0, [p]; st.f32 [p], %1; }" : "=f"(out) : "f"(v) : "memory");
  return out * 0 + v;
}
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = remembered(x[i]);
}
