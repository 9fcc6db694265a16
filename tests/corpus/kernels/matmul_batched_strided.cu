// Batched product: the batch on grid z, 32 x 32 tiles of 8 x 32 threads, four rows a thread.
// cupilot: {"plan": {"launches": [{"entry": "bmm", "grid": ["cdiv(n, 32)", "cdiv(m, 32)", "batch"], "block": [32, 8], "args": ["a", "b", "d", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"batch": 3, "m": 33, "n": 40, "k": 50}, "in": {"a": ["fp32", "batch", "m", "k"], "b": ["fp32", "batch", "k", "n"]}, "out": {"d": ["fp32", "batch", "m", "n"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void bmm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ float as[32][33], bs[32][32];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32 + tx;
  a += (size_t)blockIdx.z * m * k, b += (size_t)blockIdx.z * k * n, d += (size_t)blockIdx.z * m * n;
  float sum[4] = {};
  for (int q = 0; q < k; q += 32) {
    for (int r = ty; r < 32; r += 8) {
      as[r][tx] = row + r < m && q + tx < k ? a[(row + r) * k + q + tx] : 0.f;
      bs[r][tx] = q + r < k && col < n ? b[(q + r) * n + col] : 0.f;
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < 32; ++i) {
      for (int r = 0; r < 4; ++r) sum[r] = fmaf(as[ty + 8 * r][i], bs[i][tx], sum[r]);
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r) {
    if (row + ty + 8 * r < m && col < n) d[(row + ty + 8 * r) * n + col] = sum[r];
  }
}
