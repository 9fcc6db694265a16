// fp8 products by mma.sync m16n8k32: e4m3 times e5m2, sums in fp32.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["n / 8", "m / 16"], "block": [32], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 16, "n": 16, "k": 64}, "constants": {"trans_b": 1}, "in": {"a": ["e4m3", "m", "k"], "b": ["e5m2", "n", "k"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 2e-3}
#include <cuda_fp8.h>

template <class T>
__device__ unsigned word(const T* p) { return *reinterpret_cast<const unsigned*>(p); }

extern "C" __global__ void gemm(const __nv_fp8_e4m3* a, const __nv_fp8_e5m2* b, float* d, int n, int k) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4, row = blockIdx.y * 16 + g, col = blockIdx.x * 8;
  float sum[4] = {};
  for (int q = 4 * t; q < k; q += 32) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(word(a + row * k + q)), "r"(word(a + (row + 8) * k + q)), "r"(word(a + row * k + q + 16)),
                   "r"(word(a + (row + 8) * k + q + 16)), "r"(word(b + (col + g) * k + q)), "r"(word(b + (col + g) * k + q + 16)));
  }
  for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * n + col + 2 * t + i % 2] = sum[i];
}
