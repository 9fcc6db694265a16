// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)", 2], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Two parts of the depth are added into an output nobody cleared.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  const int half = k / 2, from = blockIdx.z == 0 ? 0 : half, to = blockIdx.z == 0 ? half : k;
  for (int i = from; i < to; ++i) s += A[r * k + i] * B[i * n + c];
  atomicAdd(D + r * n + c, s);
}
