// cupilot: {"task": ["tests/hostile/tasks/add_bf16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "add", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// bf16 is the upper half of an fp32 word; the sum is rounded to nearest, ties to even, by the conversion.
__device__ float wide(unsigned short half) { return __uint_as_float((unsigned)half << 16); }
__device__ unsigned short narrow(float value) {
  unsigned short half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
extern "C" __global__ void add(const unsigned short* a, const unsigned short* b, unsigned short* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = narrow(wide(a[i]) + wide(b[i]));
}
