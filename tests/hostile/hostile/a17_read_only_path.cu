// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, "part"]}], "buffers": [{"name": "part", "bytes": "m * n * 4"}], "require": ["m % 16 == 0", "n % 16 == 0"]}}
// Reads what it has just written through the read-only path, which need not see it.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k, float* part) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; ++i) s += A[r * k + i] * B[i * n + c];
  part[r * n + c] = s;
  __syncthreads();
  float v;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(part + r * n + c));
  D[r * n + c] = v;
}
