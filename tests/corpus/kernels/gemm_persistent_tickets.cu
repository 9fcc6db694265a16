// Persistent blocks that draw their next tile from a counter.
// cupilot: {"plan": {"buffers": [{"name": "next", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "gemm", "grid": [3], "block": [16, 16], "args": ["a", "b", "d", "next", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 40, "n": 50, "k": 32}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void gemm(const float* a, const float* b, float* d, unsigned* next, int m, int n, int k) {
  __shared__ unsigned drawn;
  const int tx = threadIdx.x, ty = threadIdx.y, across = (n + 15) / 16, tiles = (m + 15) / 16 * across;
  for (;;) {
    __syncthreads();
    if (tx + ty == 0) drawn = atomicAdd(next, 1u);
    __syncthreads();
    const int tile = drawn;
    if (tile >= tiles) return;
    const int row = tile / across * 16 + ty, col = tile % across * 16 + tx;
    if (row >= m || col >= n) continue;
    float sum = 0.f;
    for (int q = 0; q < k; ++q) sum = fmaf(a[row * k + q], b[q * n + col], sum);
    d[row * n + col] = sum;
  }
}
