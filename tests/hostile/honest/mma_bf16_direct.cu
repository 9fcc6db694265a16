// cupilot: {"task": ["gemm", "m=48", "n=40", "k=32", "dtype=bf16"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 8)", "cdiv(m, 16)"], "block": [32], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// A warp a tile of 16 x 8 on tensor cores, operands straight from memory.
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ unsigned short narrow(float value) {
  unsigned short half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
__device__ unsigned pair(unsigned short low, unsigned short high) { return low | (unsigned)high << 16; }

extern "C" __global__ void gemm(const unsigned short* a, const unsigned short* b, unsigned short* d, int m, int n, int k) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4, top = blockIdx.y * 16, edge = blockIdx.x * 8;
  const auto at_a = [&](int row, int p) { return row < m && p < k ? a[(long long)row * k + p] : (unsigned short)0; };
  const auto at_b = [&](int p, int column) { return p < k && column < n ? b[(long long)p * n + column] : (unsigned short)0; };
  float sum[4] = {};
  for (int from = 0; from < k; from += 16) {
    unsigned left[4], right[2];
    for (int i = 0; i < 4; ++i) {
      const int row = top + g + i % 2 * 8, p = from + 2 * t + i / 2 * 8;
      left[i] = pair(at_a(row, p), at_a(row, p + 1));
    }
    for (int i = 0; i < 2; ++i) {
      const int p = from + 2 * t + i * 8;
      right[i] = pair(at_b(p, edge + g), at_b(p + 1, edge + g));
    }
    multiply_add(sum, left, right);
  }
  for (int i = 0; i < 4; ++i) {
    const int row = top + g + i / 2 * 8, column = edge + 2 * t + i % 2;
    if (row < m && column < n) d[(long long)row * n + column] = narrow(sum[i]);
  }
}
