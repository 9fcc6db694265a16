// fp64 products by mma.sync m8n8k4, a warp 8 x 8 elements.
// cupilot: {"plan": {"launches": [{"entry": "dgemm", "grid": ["n / 8", "m / 8"], "block": [32], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 16, "n": 24, "k": 32}, "in": {"a": ["fp64", "m", "k"], "b": ["fp64", "k", "n"]}, "out": {"d": ["fp64", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 1e-14}
extern "C" __global__ void dgemm(const double* a, const double* b, double* d, int n, int k) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4, row = blockIdx.y * 8 + g, col = blockIdx.x * 8;
  double sum[2] = {};
  for (int q = t; q < k; q += 4) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(sum[0]), "+d"(sum[1])
                 : "d"(a[row * k + q]), "d"(b[q * n + col + g]));
  }
  d[row * n + col + 2 * t] = sum[0], d[row * n + col + 2 * t + 1] = sum[1];
}
