// Product where B is stored by columns: a transposed operand is read along its own rows and turned in shared memory.
// cupilot: {"plan": {"launches": [{"entry": "gemm<0, 1>", "grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "block": [32, 8], "args": ["a", "b", "d", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 40, "n": 36, "k": 33}, "constants": {"trans_a": 0, "trans_b": 1}}
// corpus: {"in": {"a": ["fp32", "m", "k"], "b": ["fp32", "n", "k"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
template <bool TRANS_A, bool TRANS_B>
__global__ void gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d, int m, int n, int k) {
  __shared__ float as[32][33], bs[32][33];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32;
  float sum[4] = {};
  for (int q = 0; q < k; q += 32) {
#pragma unroll
    for (int r = ty; r < 32; r += 8) {
      if constexpr (TRANS_A) {
        as[tx][r] = q + r < k && row + tx < m ? a[(q + r) * m + row + tx] : 0.f;
      } else {
        as[r][tx] = row + r < m && q + tx < k ? a[(row + r) * k + q + tx] : 0.f;
      }
      if constexpr (TRANS_B) {
        bs[tx][r] = col + r < n && q + tx < k ? b[(col + r) * k + q + tx] : 0.f;
      } else {
        bs[r][tx] = q + r < k && col + tx < n ? b[(q + r) * n + col + tx] : 0.f;
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i) {
#pragma unroll
      for (int r = 0; r < 4; ++r) sum[r] = fmaf(as[ty + 8 * r][i], bs[i][tx], sum[r]);
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r) {
    if (row + ty + 8 * r < m && col + tx < n) d[(row + ty + 8 * r) * n + col + tx] = sum[r];
  }
}
