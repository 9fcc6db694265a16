// int8 products four at a time by dp4a.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 8)"], "block": [16, 8], "args": ["a", "b", "d", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 20, "n": 25, "k": 64}, "constants": {"trans_b": 1}, "in": {"a": ["i8", "m", "k", {"kind": "integers", "below": 127}], "b": ["i8", "n", "k", {"kind": "integers", "below": 127}]}, "out": {"d": ["i32", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 0}
extern "C" __global__ void gemm(const char4* a, const char4* b, int* d, int m, int n, int k) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= m || col >= n) return;
  int sum = 0;
  for (int q = 0; q < k / 4; ++q) sum = __dp4a(a[row * k / 4 + q], b[col * k / 4 + q], sum);
  d[row * n + col] = sum;
}
