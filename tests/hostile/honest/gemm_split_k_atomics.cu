// cupilot: {"task": ["gemm", "m=32", "n=24", "k=96"]}
// cupilot: {"constants": {"SPLIT": 3}}
// cupilot: {"plan": {"let": {"chunk": "cdiv(k, SPLIT)"}, "launches": [{"entry": "clear", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["D", {"i32": "m"}, {"i32": "n"}]}, {"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)", "SPLIT"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "chunk"}]}]}}
// Parts of K meet in the output by float atomics: any order.
extern "C" __global__ void clear(float* d, int m, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < m && column < n) d[(long long)row * n + column] = 0.0f;
}
extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k, int chunk) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, k);
  float sum = 0.0f;
  for (int p = begin; p < end; ++p) sum += a[(long long)row * k + p] * b[(long long)p * n + column];
  if (begin < end) atomicAdd(d + (long long)row * n + column, sum);
}
