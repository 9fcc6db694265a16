// Upper times upper triangular: tiles outside the triangle are zeros, sums run over the tiles between row and column only.
// cupilot: {"plan": {"launches": [{"entry": "trmm", "grid": ["cdiv(n, 16)", "cdiv(n, 16)"], "block": [16, 16], "args": ["a", "b", "d", {"i32": "n"}]}]}}
// corpus: {"sizes": {"m": 50, "n": 50, "k": 50}, "in": {"a": ["fp32", "m", "k", {"kind": "normal", "structure": "upper"}], "b": ["fp32", "k", "n", {"kind": "normal", "structure": "upper"}]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void trmm(const float* a, const float* b, float* d, int n) {
  __shared__ float as[16][17], bs[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  const int k0 = blockIdx.y, k1 = blockIdx.x;  // none below the diagonal
  float sum = 0.f;
  for (int q = k0; q <= k1; ++q) {
    as[ty][tx] = row < n && q * 16 + tx < n ? a[row * n + q * 16 + tx] : 0.f;
    bs[ty][tx] = q * 16 + ty < n && col < n ? b[(q * 16 + ty) * n + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < n && col < n) d[row * n + col] = sum;
}
