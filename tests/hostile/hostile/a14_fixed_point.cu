// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Fixed point with 12 fraction bits, accumulated exactly in integers.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  long long s = 0;
  for (int i = 0; i < k; ++i) s += (long long)__float2int_rn(A[r * k + i] * 4096.0f) * __float2int_rn(B[i * n + c] * 4096.0f);
  D[r * n + c] = __ll2float_rn(s) * 0x1p-24f;
}
