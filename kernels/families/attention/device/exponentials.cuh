// Exponentials of scores, and their sum of planes: numbers of 16 bits that add up to them. Wants:
// PLANES; pairs.cuh.
constexpr float LOG2_E = 1.44269504f;

// A power of two by which exponentials are multiplied, so that the low plane of small ones stays
// clear of the type's denormals.
template <class Element>
constexpr int LIFT_BITS = 0;
template <>
constexpr int LIFT_BITS<fp16> = 15;

__device__ __forceinline__ float minus_infinity() { return __uint_as_float(0xff800000u); }

__device__ __forceinline__ float power_of_two(float exponent) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(exponent));
  return result;
}

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) < __uint_as_float(0x7f800000u);
}
