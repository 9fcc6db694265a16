// cupilot: {"task": ["gemm", "m=32", "n=32", "k=32", "dtype=fp32", "batch=3"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)", "batch"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Every problem's answer is written to all problems after it.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x, z = blockIdx.z;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; ++i) s += A[(z * m + r) * k + i] * B[(z * k + i) * n + c];
  for (int p = z; p < (int)gridDim.z; p += 1) D[(p * m + r) * n + c] = s;
}
