// cupilot: {"task": ["gemm", "m=48", "n=40", "k=32", "precision=fp32-emulated"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 8)", "cdiv(m, 16)"], "block": [32], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Each operand as three bf16 planes; the six largest of nine products, the small ones first.
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ float upper(float value) {  // rounded to bf16, as fp32
  unsigned short half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return __uint_as_float((unsigned)half << 16);
}
__device__ unsigned pair(float low, float high) {
  return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u);
}
// 3 bf16 planes whose sum is the value; an infinity or NaN has one.
struct Planes {
  float at[3];
};
__device__ Planes planes_of(float value) {
  Planes planes;
  for (int i = 0; i < 3; ++i) {
    planes.at[i] = upper(value);
    const float rest = value - planes.at[i];
    value = rest == rest ? rest : 0.0f;
  }
  return planes;
}

extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4, top = blockIdx.y * 16, edge = blockIdx.x * 8;
  const auto at_a = [&](int row, int p) { return row < m && p < k ? a[(long long)row * k + p] : 0.0f; };
  const auto at_b = [&](int p, int column) { return p < k && column < n ? b[(long long)p * n + column] : 0.0f; };
  float sum[4] = {};
  for (int from = 0; from < k; from += 16) {
    unsigned left[3][4], right[3][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = top + g + i % 2 * 8, p = from + 2 * t + i / 2 * 8;
      const Planes low = planes_of(at_a(row, p)), high = planes_of(at_a(row, p + 1));
      for (int j = 0; j < 3; ++j) left[j][i] = pair(low.at[j], high.at[j]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int p = from + 2 * t + i * 8;
      const Planes low = planes_of(at_b(p, edge + g)), high = planes_of(at_b(p + 1, edge + g));
      for (int j = 0; j < 3; ++j) right[j][i] = pair(low.at[j], high.at[j]);
    }
    multiply_add(sum, left[2], right[0]);
    multiply_add(sum, left[0], right[2]);
    multiply_add(sum, left[1], right[1]);
    multiply_add(sum, left[1], right[0]);
    multiply_add(sum, left[0], right[1]);
    multiply_add(sum, left[0], right[0]);
  }
  for (int i = 0; i < 4; ++i) {
    const int row = top + g + i / 2 * 8, column = edge + 2 * t + i % 2;
    if (row < m && column < n) d[(long long)row * n + column] = sum[i];
  }
}
