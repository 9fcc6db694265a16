// int8 products by mma.sync m16n8k32 with exact int32 sums; b is stored by columns, fragments are plain 32-bit loads.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["n / 8", "m / 16"], "block": [32], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 32, "n": 16, "k": 96}, "constants": {"trans_b": 1}, "in": {"a": ["i8", "m", "k", {"kind": "integers", "below": 120}], "b": ["i8", "n", "k", {"kind": "integers", "below": 120}]}, "out": {"d": ["i32", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 0}
extern "C" __global__ void gemm(const signed char* a, const signed char* b, int* d, int n, int k) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4, row = blockIdx.y * 16 + g, col = blockIdx.x * 8;
  const auto word = [](const signed char* p) { return *reinterpret_cast<const int*>(p); };
  int sum[4] = {};
  for (int q = 4 * t; q < k; q += 32) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(word(a + row * k + q)), "r"(word(a + (row + 8) * k + q)), "r"(word(a + row * k + q + 16)),
                   "r"(word(a + (row + 8) * k + q + 16)), "r"(word(b + (col + g) * k + q)), "r"(word(b + (col + g) * k + q + 16)));
  }
  for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * n + col + 2 * t + i % 2] = sum[i];
}
