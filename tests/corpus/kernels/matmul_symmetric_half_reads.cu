// Symmetric times symmetric: only the upper halves are read, lower elements come from their mirror images.
// cupilot: {"plan": {"launches": [{"entry": "symm", "grid": ["cdiv(n, 16)", "cdiv(n, 16)"], "block": [16, 16], "args": ["a", "b", "d", {"i32": "n"}]}]}}
// corpus: {"sizes": {"m": 45, "n": 45, "k": 45}, "in": {"a": ["fp32", "m", "k", {"kind": "normal", "structure": "symmetric"}], "b": ["fp32", "k", "n", {"kind": "normal", "structure": "symmetric"}]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
__device__ float mirrored(const float* s, int i, int j, int n) {
  if (i >= n || j >= n) return 0.f;
  return i <= j ? s[i * n + j] : s[j * n + i];
}

extern "C" __global__ void symm(const float* a, const float* b, float* d, int n) {
  __shared__ float as[16][17], bs[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0.f;
  for (int q = 0; q < n; q += 16) {
    as[ty][tx] = mirrored(a, row, q + tx, n);
    bs[ty][tx] = mirrored(b, q + ty, col, n);
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < n && col < n) d[row * n + col] = sum;
}
