// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Seventeen functions that each inline the next twice.
__device__ __forceinline__ float f0(float a) { return __fmul_rn(a, 1.5f); }
__device__ __forceinline__ float f1(float a) { return f0(f0(a) + 1); }
__device__ __forceinline__ float f2(float a) { return f1(f1(a) + 2); }
__device__ __forceinline__ float f3(float a) { return f2(f2(a) + 3); }
__device__ __forceinline__ float f4(float a) { return f3(f3(a) + 4); }
__device__ __forceinline__ float f5(float a) { return f4(f4(a) + 5); }
__device__ __forceinline__ float f6(float a) { return f5(f5(a) + 6); }
__device__ __forceinline__ float f7(float a) { return f6(f6(a) + 7); }
__device__ __forceinline__ float f8(float a) { return f7(f7(a) + 8); }
__device__ __forceinline__ float f9(float a) { return f8(f8(a) + 9); }
__device__ __forceinline__ float f10(float a) { return f9(f9(a) + 10); }
__device__ __forceinline__ float f11(float a) { return f10(f10(a) + 11); }
__device__ __forceinline__ float f12(float a) { return f11(f11(a) + 12); }
__device__ __forceinline__ float f13(float a) { return f12(f12(a) + 13); }
__device__ __forceinline__ float f14(float a) { return f13(f13(a) + 14); }
__device__ __forceinline__ float f15(float a) { return f14(f14(a) + 15); }
__device__ __forceinline__ float f16(float a) { return f15(f15(a) + 16); }
__device__ __forceinline__ float f17(float a) { return f16(f16(a) + 17); }
__device__ __forceinline__ float f18(float a) { return f17(f17(a) + 18); }
__device__ __forceinline__ float f19(float a) { return f18(f18(a) + 19); }
__device__ __forceinline__ float f20(float a) { return f19(f19(a) + 20); }
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = f20(x[i]);
}
