// Structured sparsity: of every four values of A two are kept, always at places 0 and 2 or 1 and 3 by turns of rows; mma.sp in bf16.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["n / 8", "m / 16"], "block": [32], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 32, "n": 16, "k": 96}, "in": {"a": ["bf16", "m", "k / 2"], "b": ["bf16", "n", "k"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "two_of_four"}, "tolerance": 1e-5}
extern "C" __global__ void gemm(const unsigned short* a, const unsigned short* b, float* d, int n, int k) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4, row = blockIdx.y * 16 + g, col = blockIdx.x * 8;
  const auto pair = [](const unsigned short* p) { return *reinterpret_cast<const unsigned*>(p); };
  // Four bits a group of four: places 0, 2 for even rows, 1, 3 for odd ones; rows g and g + 8 are both even or both odd.
  const unsigned places = row % 2 == 0 ? 0x88888888u : 0xddddddddu;
  float sum[4] = {};
  for (int q = 0; q < k; q += 32) {
    const unsigned short *upper = a + row * k / 2 + q / 2 + 2 * t, *lower = upper + 8 * k / 2, *right = b + (col + g) * k + q + 2 * t;
    asm volatile(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, "
        "{%0, %1, %2, %3}, %12, 0x0;"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(pair(upper)), "r"(pair(lower)), "r"(pair(upper + 8)), "r"(pair(lower + 8)), "r"(pair(right)), "r"(pair(right + 8)),
          "r"(pair(right + 16)), "r"(pair(right + 24)), "r"(places));
  }
  for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * n + col + 2 * t + i % 2] = sum[i];
}
