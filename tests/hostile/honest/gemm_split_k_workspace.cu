// cupilot: {"task": ["gemm", "m=32", "n=24", "k=96"]}
// cupilot: {"constants": {"SPLIT": 3}}
// cupilot: {"plan": {"let": {"chunk": "cdiv(k, SPLIT)"}, "buffers": [{"name": "part", "bytes": "SPLIT * m * n * 4"}], "launches": [{"entry": "parts", "grid": ["cdiv(n, 16)", "cdiv(m, 16)", "SPLIT"], "block": [16, 16], "args": ["A", "B", "part", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "chunk"}]}, {"entry": "add_parts", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["part", "D", {"i32": "m"}, {"i32": "n"}]}]}}
// Parts of K wait in a workspace; a second launch adds them in order.
extern "C" __global__ void parts(const float* a, const float* b, float* part, int m, int n, int k, int chunk) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  const int begin = blockIdx.z * chunk, end = min(begin + chunk, k);
  float sum = 0.0f;
  for (int p = begin; p < end; ++p) sum += a[(long long)row * k + p] * b[(long long)p * n + column];
  part[((long long)blockIdx.z * m + row) * n + column] = sum;
}
extern "C" __global__ void add_parts(const float* part, float* d, int m, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int s = 0; s < 3; ++s) sum += part[((long long)s * m + row) * n + column];
  d[(long long)row * n + column] = sum;
}
