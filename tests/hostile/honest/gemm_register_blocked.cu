// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "block": [64], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// 32 x 32 a block, 4 x 4 a thread, slabs of 8. A stands transposed in shared memory.
extern "C" __global__ void __launch_bounds__(64) gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ float left[8][36], right[8][32];
  const int t = threadIdx.x, top = blockIdx.y * 32, edge = blockIdx.x * 32, ty = t / 8 * 4, tx = t % 8 * 4;
  float sum[4][4] = {};
  for (int from = 0; from < k; from += 8) {
    for (int i = t; i < 256; i += 64) {
      const int r = top + i / 8, p = from + i % 8;
      left[i % 8][i / 8] = r < m && p < k ? a[(long long)r * k + p] : 0.0f;
    }
    for (int i = t; i < 256; i += 64) {
      const int p = from + i / 32, c = edge + i % 32;
      right[i / 32][i % 32] = p < k && c < n ? b[(long long)p * n + c] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < 8; ++p) {
      float own_a[4], own_b[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) own_a[i] = left[p][ty + i];
#pragma unroll
      for (int j = 0; j < 4; ++j) own_b[j] = right[p][tx + j];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(own_a[i], own_b[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (top + ty + i < m && edge + tx + j < n) d[(long long)(top + ty + i) * n + edge + tx + j] = sum[i][j];
    }
  }
}
