// A list of tiles in serpentine order, written once by a setup launch, walked by every run.
// cupilot: {"plan": {"let": {"across": "cdiv(n, 16)", "down": "cdiv(m, 16)"}, "buffers": [{"name": "order", "bytes": "across * down * 8", "content": "table"}], "launches": [{"entry": "serpentine", "when": "setup", "grid": ["down"], "block": ["across"], "args": ["order"]}, {"entry": "gemm", "grid": ["across * down"], "block": [16, 16], "args": ["a", "b", "d", "order", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 40, "n": 70, "k": 20}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void serpentine(int2* order) {
  const int x = blockIdx.x % 2 == 0 ? threadIdx.x : blockDim.x - 1 - threadIdx.x;
  order[blockIdx.x * blockDim.x + threadIdx.x] = make_int2(x, blockIdx.x);
}

extern "C" __global__ void gemm(const float* a, const float* b, float* d, const int2* __restrict__ order, int m, int n, int k) {
  const int2 tile = order[blockIdx.x];
  const int row = tile.y * 16 + threadIdx.y, col = tile.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0.f;
  for (int q = 0; q < k; ++q) sum = fmaf(a[row * k + q], b[q * n + col], sum);
  d[row * n + col] = sum;
}
