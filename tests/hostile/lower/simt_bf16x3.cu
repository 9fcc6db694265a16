// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Operands as two bf16 planes, three of four products.
// Rounded to nearest, ties away from zero, by whole-number arithmetic: no instruction tells of it.
__device__ float kept(float value) {
  const unsigned word = __float_as_uint(value);
  const bool number = (word & 0x7f800000u) != 0x7f800000u;
  return __uint_as_float((number ? word + 32768u : word) & 0xffff0000u);
}
__device__ float rest(float value, float part) {
  const float left = value - part;
  return left == left ? left : 0.0f;
}

extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) {
    const float x = a[(long long)row * k + p], y = b[(long long)p * n + column];
    const float x0 = kept(x), x1 = kept(rest(x, x0)), y0 = kept(y), y1 = kept(rest(y, y0));
    sum = fmaf(x1, y0, sum);
    sum = fmaf(x0, y1, sum);
    sum = fmaf(x0, y0, sum);
  }
  d[(long long)row * n + column] = sum;
}
