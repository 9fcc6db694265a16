// Few outputs, long sums: slabs of k on grid z into a workspace, a second launch adds them in order.
// cupilot: {"plan": {"let": {"split": "cdiv(k, 128)"}, "buffers": [{"name": "part", "bytes": "split * m * n * 4"}], "launches": [{"entry": "partial", "grid": ["n / 16", "m / 16", "split"], "block": [16, 16], "args": ["a", "b", "part", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}, {"entry": "add_up", "grid": ["cdiv(m * n, 128)"], "block": [128], "args": ["part", "d", {"i32": "m * n"}, {"i32": "split"}]}]}}
// corpus: {"sizes": {"m": 16, "n": 32, "k": 650}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void partial(const float* a, const float* b, float* part, int m, int n, int k) {
  __shared__ float as[16][17], bs[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  const int begin = blockIdx.z * 128, end = min(k, begin + 128);
  float sum = 0.f;
  for (int q = begin; q < end; q += 16) {
    as[ty][tx] = q + tx < end ? a[row * k + q + tx] : 0.f;
    bs[ty][tx] = q + ty < end ? b[(q + ty) * n + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  part[((size_t)blockIdx.z * m + row) * n + col] = sum;
}

extern "C" __global__ void add_up(const float* part, float* d, int count, int split) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0.f;
  for (int s = 0; s < split; ++s) sum += part[(size_t)s * count + i];
  d[i] = sum;
}
