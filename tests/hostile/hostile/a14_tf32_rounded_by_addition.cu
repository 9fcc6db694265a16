// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Dekker's splitting keeps the upper 11 bits of each operand, with fp32 additions alone.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; ++i) {
    const float u = A[r * k + i], v = B[i * n + c], up = u * 8193.0f, vp = v * 8193.0f;
    s += __fsub_rn(up, __fsub_rn(up, u)) * __fsub_rn(vp, __fsub_rn(vp, v));
  }
  D[r * n + c] = s;
}
