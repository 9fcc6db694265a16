// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=bf16"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// bf16 inputs are right; the accumulator is bf16 too.
__device__ float wide(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }
__device__ unsigned short narrow(float v) {
  const unsigned u = __float_as_uint(v);
  return v != v ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}
extern "C" __global__ void k(const unsigned short* A, const unsigned short* B, unsigned short* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; ++i) s = wide(narrow(s + wide(A[r * k + i]) * wide(B[i * n + c])));
  D[r * n + c] = narrow(s);
}
