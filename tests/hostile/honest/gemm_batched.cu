// cupilot: {"task": ["gemm", "m=24", "n=16", "k=20", "batch=3"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)", "batch"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ float left[16][17], right[16][17];
  a += (long long)blockIdx.z * m * k;
  b += (long long)blockIdx.z * k * n;
  d += (long long)blockIdx.z * m * n;
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int from = 0; from < k; from += 16) {
    left[y][x] = row < m && from + x < k ? a[row * k + from + x] : 0.0f;
    right[y][x] = from + y < k && column < n ? b[(from + y) * n + column] : 0.0f;
    __syncthreads();
    for (int p = 0; p < 16; ++p) sum += left[y][p] * right[p][x];
    __syncthreads();
  }
  if (row < m && column < n) d[row * n + column] = sum;
}
