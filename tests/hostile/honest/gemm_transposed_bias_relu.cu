// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24", "layout=tt", "alpha=0.5", "beta=2", "bias=1", "act=relu"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "C", "bias", "D", "alpha", "beta", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// A stored k x m, B stored n x k; alpha, beta C, bias and relu in the epilogue.
extern "C" __global__ void gemm(const float* a, const float* b, const float* c, const float* bias, float* d, float alpha, float beta,
                                int m, int n, int k) {
  __shared__ float left[16][16], right[16][17];
  const int x = threadIdx.x, y = threadIdx.y, top = blockIdx.y * 16, edge = blockIdx.x * 16;
  float sum = 0.0f;
  for (int from = 0; from < k; from += 16) {
    left[y][x] = from + y < k && top + x < m ? a[(long long)(from + y) * m + top + x] : 0.0f;
    right[y][x] = edge + y < n && from + x < k ? b[(long long)(edge + y) * k + from + x] : 0.0f;
    __syncthreads();
    for (int p = 0; p < 16; ++p) sum += left[p][y] * right[x][p];
    __syncthreads();
  }
  const int row = top + y, column = edge + x;
  if (row >= m || column >= n) return;
  const long long at = (long long)row * n + column;
  d[at] = fmaxf(alpha * sum + beta * c[at] + bias[column], 0.0f);
}
