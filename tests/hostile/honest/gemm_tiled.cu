// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Squares of 16 x 16 in shared memory, zeros past the edges.
extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ float left[16][16], right[16][17];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int from = 0; from < k; from += 16) {
    left[y][x] = row < m && from + x < k ? a[(long long)row * k + from + x] : 0.0f;
    right[y][x] = from + y < k && column < n ? b[(long long)(from + y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < 16; ++p) sum += left[y][p] * right[p][x];
    __syncthreads();
  }
  if (row < m && column < n) d[(long long)row * n + column] = sum;
}
