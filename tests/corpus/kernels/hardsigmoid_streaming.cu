// HardSigmoid with streaming loads and stores that leave the caches to others, and a saturating add.
// cupilot: {"plan": {"launches": [{"entry": "hardsigmoid", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1500}, "in": {"x": ["fp32", "n", {"kind": "normal", "high": 3}]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "hardsigmoid"}}
extern "C" __global__ void hardsigmoid(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(x + i));
  v = __saturatef(fmaf(v, 1.f / 6.f, 0.5f));
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(y + i), "f"(v) : "memory");
}
