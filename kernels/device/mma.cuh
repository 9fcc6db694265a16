// Warp-wide matrix multiply-add on tensor cores, with fp32 sums, and the loads that bring its
// operands. A is 16 x K, B is K x 8, the sum 16 x 8; K is 32 bytes of elements: 16 of 16 bits, or 8
// of tf32.
//
// With g = lane / 4 and t = lane % 4, a register of 4 bytes at byte 4 t of K holds
//   a[0]: row g, a[1]: row g + 8 (first 16 bytes of K); a[2], a[3]: the same rows, second 16 bytes
//   b[0]: column g, first 16 bytes of K; b[1]: column g, second 16 bytes
//   sum[0], sum[1]: row g, columns 2t and 2t + 1; sum[2], sum[3]: row g + 8
template <class T>
__device__ __forceinline__ void multiply_add(float (&sum)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]);

template <>
__device__ __forceinline__ void multiply_add<bf16>(float (&sum)[4], const unsigned (&a)[4],
                                                   const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <>
__device__ __forceinline__ void multiply_add<fp16>(float (&sum)[4], const unsigned (&a)[4],
                                                   const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <>
__device__ __forceinline__ void multiply_add<float>(float (&sum)[4], const unsigned (&a)[4],
                                                    const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The tensor core ignores the low 13 bits of an fp32 word. Adding half a unit of the last bit it
// keeps, away from zero, turns that truncation into rounding to nearest. The half unit is the
// word's own power of two times 2^-11; infinities and NaNs stay what they are. (cvt.rna.tf32 does
// the same at a sixteenth of the rate.)
__device__ __forceinline__ unsigned round_to_tf32(unsigned word) {
  const float power = __uint_as_float(word & 0xff800000u);
  return __float_as_uint(fmaf(power, 0x1p-11f, __uint_as_float(word)));
}

// Four 8 x 16-byte matrices from shared memory, lane l naming row l % 8 of matrix l / 8. Lane (g,
// t) receives bytes 4t .. 4t+3 of row g of each.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
// Loads four matrices of 16-bit elements, each transposed: lane (g, t) receives rows 2t, 2t + 1 of
// column g.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
