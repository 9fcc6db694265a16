// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[(long long)row * k + p] * b[(long long)p * n + column];
  d[(long long)row * n + column] = sum;
}
