// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Winograd's inner product: half the multiplications, and operands of unlike size spoil each other.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i + 1 < k; i += 2) {
    const float a0 = A[r * k + i], a1 = A[r * k + i + 1], b0 = B[i * n + c], b1 = B[(i + 1) * n + c];
    s += (a0 + b1) * (a1 + b0) - a0 * a1 - b0 * b1;
  }
  if (k % 2 == 1) s += A[r * k + k - 1] * B[(k - 1) * n + c];
  D[r * n + c] = s;
}
