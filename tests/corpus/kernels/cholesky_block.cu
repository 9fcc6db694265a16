// Cholesky factor of x x^T + n I, one block a matrix, column by column in shared memory.
// cupilot: {"plan": {"launches": [{"entry": "cholesky<16>", "grid": ["outer"], "block": [16, 16], "args": ["x", "y"]}]}}
// corpus: {"sizes": {"outer": 2, "n": 16}, "in": {"x": ["fp32", "outer", "n", "n"]}, "out": {"y": ["fp32", "outer", "n", "n"]}, "expect": {"y": "cholesky"}}
template <int N>
__global__ void cholesky(const float* x, float* y) {
  __shared__ float s[N][N + 1], a[N][N + 1];
  const int c = threadIdx.x, r = threadIdx.y;
  s[r][c] = x[(blockIdx.x * N + r) * N + c];
  __syncthreads();
  float sum = r == c ? N : 0.f;
  for (int i = 0; i < N; ++i) sum = fmaf(s[r][i], s[c][i], sum);
  a[r][c] = sum;
  for (int k = 0; k < N; ++k) {
    __syncthreads();
    const float pivot = rsqrtf(a[k][k]);
    __syncthreads();
    if (c == k && r >= k) a[r][k] *= pivot;
    __syncthreads();
    if (c > k && r >= c) a[r][c] -= a[r][k] * a[c][k];
  }
  __syncthreads();
  y[(blockIdx.x * N + r) * N + c] = r >= c ? a[r][c] : 0.f;
}
