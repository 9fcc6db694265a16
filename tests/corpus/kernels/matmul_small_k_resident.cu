// Short sums, many outputs: a block keeps its whole slab of b in dynamic shared memory and sweeps rows of a.
// cupilot: {"plan": {"launches": [{"entry": "outer", "grid": ["cdiv(n, 64)", 2], "block": [64], "shared": "k * 64 * 4", "args": ["a", "b", "d", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 37, "n": 100, "k": 24}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
extern __shared__ float slab[];

extern "C" __global__ void outer(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d, int m, int n, int k) {
  const int col = blockIdx.x * 64 + threadIdx.x;
  for (int q = 0; q < k; ++q) slab[q * 64 + threadIdx.x] = col < n ? b[q * n + col] : 0.f;
  if (col >= n) return;
  for (int row = blockIdx.y; row < m; row += gridDim.y) {
    float sum = 0.f;
#pragma unroll 8
    for (int q = 0; q < k; ++q) sum = fmaf(__ldg(a + row * k + q), slab[q * 64 + threadIdx.x], sum);
    __stcs(d + (size_t)row * n + col, sum);
  }
}
