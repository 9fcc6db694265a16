// A float whose quotients and roots are right to a few units of its last place, and exponentials to
// 2^-22 + 2^-23.7 |x|, by the special function unit: for results that are kept in 16 bits.
#include "cupilot/functions.cuh"

struct Fast {
  float value;
  __device__ __forceinline__ Fast() {}
  template <class T>
  __device__ __forceinline__ explicit Fast(T x) : value(static_cast<float>(x)) {}
  __device__ __forceinline__ operator float() const { return value; }
};

// Divides over the whole range, with zeros, infinities and NaN as the exact quotient has them.
__device__ __forceinline__ float fast_quotient(float a, float b) {
  float result;
  asm("div.full.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

#define CUPILOT_FAST(op, result)                                      \
  __device__ __forceinline__ Fast operator op(Fast one, Fast other) { \
    const float a = one.value, b = other.value;                       \
    return Fast(result);                                              \
  }                                                                   \
  template <class T>                                                  \
  __device__ __forceinline__ Fast operator op(Fast one, T other) {    \
    const float a = one.value, b = static_cast<float>(other);         \
    return Fast(result);                                              \
  }                                                                   \
  template <class T>                                                  \
  __device__ __forceinline__ Fast operator op(T one, Fast other) {    \
    const float a = static_cast<float>(one), b = other.value;         \
    return Fast(result);                                              \
  }
CUPILOT_FAST(+, a + b)
CUPILOT_FAST(-, a - b)
CUPILOT_FAST(*, a* b)
CUPILOT_FAST(/, fast_quotient(a, b))
#undef CUPILOT_FAST
__device__ __forceinline__ Fast operator-(Fast x) { return Fast(-x.value); }

__device__ __forceinline__ Fast exp_(Fast x) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(x.value * 1.442695041f));
  return Fast(result);
}
__device__ __forceinline__ Fast sqrt_(Fast x) {
  float result;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x.value));
  return Fast(result);
}
__device__ __forceinline__ Fast rsqrt_(Fast x) {
  float result;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x.value));
  return Fast(result);
}
