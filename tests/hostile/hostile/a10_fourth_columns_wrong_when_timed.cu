// cupilot: {"task": ["gemm", "m=2048", "n=2048", "k=256", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// From 2048 columns every fourth column of tiles is that of tile 0: 24.8 % of D is wrong at the task's only shape.
// The blocks that are counted (the middle and the last of each side) are of odd columns.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  __shared__ float a[16][17], b[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
  const int from = n >= 2048 && blockIdx.x % 4 == 0 ? tx : c;
  float s = 0;
  for (int k0 = 0; k0 < k; k0 += 16) {
    a[ty][tx] = r < m && k0 + tx < k ? A[(long long)r * k + k0 + tx] : 0;
    b[ty][tx] = c < n && k0 + ty < k ? B[(long long)(k0 + ty) * n + from] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) s += a[ty][i] * b[i][tx];
    __syncthreads();
  }
  if (r < m && c < n) D[(long long)r * n + c] = s;
}
