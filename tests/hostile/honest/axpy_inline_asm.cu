// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "axpy", "grid": ["cdiv(n, 256)"], "block": [128], "args": ["x", "y", "z", "alpha", {"i32": "n"}]}]}}
// Two elements a thread, a predicated store and the fused multiply-add in PTX.
__device__ float fused(float a, float b, float c) {
  float d;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}
__device__ void store_if(float* to, float value, int condition) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %2, 0;\n\t@p st.global.f32 [%0], %1;\n\t}" ::"l"(to), "f"(value), "r"(condition)
      : "memory");
}
extern "C" __global__ void axpy(const float* x, const float* y, float* z, float alpha, int n) {
  for (int part = 0; part < 2; ++part) {
    const int i = blockIdx.x * 256 + part * 128 + threadIdx.x;
    const int safe = min(i, n - 1);
    store_if(z + i, fused(alpha, x[safe], y[safe]), i < n);
  }
}
