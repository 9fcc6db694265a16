// Square product, 16 x 16 tiles in shared memory, one element a thread.
// cupilot: {"plan": {"launches": [{"entry": "matmul", "grid": ["n / 16", "n / 16"], "block": [16, 16], "args": ["a", "b", "d", {"i32": "n"}]}]}}
// corpus: {"sizes": {"m": 64, "n": 64, "k": 64}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
constexpr int TILE = 16;

extern "C" __global__ void matmul(const float* a, const float* b, float* d, int n) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.f;
  for (int k = 0; k < n; k += TILE) {
    as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
    __syncthreads();
#pragma unroll
    for (int q = 0; q < TILE; ++q) sum += as[threadIdx.y][q] * bs[q][threadIdx.x];
    __syncthreads();
  }
  d[row * n + col] = sum;
}
