// Tensors of three and four dimensions times one matrix: all leading dimensions are rows; a warp takes a row and 128 columns.
// cupilot: {"plan": {"launches": [{"entry": "rows", "grid": ["cdiv(n, 128)", "cdiv(batch * m, 4)"], "block": [32, 4], "args": ["a", "b", "d", {"i32": "batch * m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"batch": 2, "m": 5, "n": 96, "k": 40}, "in": {"a": ["fp32", "batch", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "batch", "m", "n"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void rows(const float* a, const float* b, float* d, int m, int n, int k) {
  const int row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 128 + threadIdx.x * 4;
  if (row >= m) return;
  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
  for (int base = 0; base < k; base += 32) {
    const float mine = base + threadIdx.x < k ? a[row * k + base + threadIdx.x] : 0.f;
    for (int q = 0; q < min(32, k - base); ++q) {
      const float x = __shfl_sync(0xffffffffu, mine, q);
      if (col >= n) continue;
      const float4 y = *reinterpret_cast<const float4*>(b + (base + q) * n + col);
      sum.x = fmaf(x, y.x, sum.x), sum.y = fmaf(x, y.y, sum.y), sum.z = fmaf(x, y.z, sum.z), sum.w = fmaf(x, y.w, sum.w);
    }
  }
  if (col < n) *reinterpret_cast<float4*>(d + (size_t)row * n + col) = sum;
}
