// Functions of operators' texts in fp32, and how folds combine.
__device__ __forceinline__ float exp_(float x) { return expf(x); }
__device__ __forceinline__ float log_(float x) { return logf(x); }
__device__ __forceinline__ float tanh_(float x) { return tanhf(x); }
__device__ __forceinline__ float erf_(float x) { return erff(x); }
__device__ __forceinline__ float erfc_(float x) { return erfcf(x); }
__device__ __forceinline__ float sqrt_(float x) { return sqrtf(x); }
__device__ __forceinline__ float rsqrt_(float x) { return 1.0f / sqrtf(x); }
__device__ __forceinline__ float abs_(float x) { return fabsf(x); }
__device__ __forceinline__ float sin_(float x) { return sinf(x); }
__device__ __forceinline__ float cos_(float x) { return cosf(x); }
__device__ __forceinline__ float tan_(float x) { return tanf(x); }
__device__ __forceinline__ float asin_(float x) { return asinf(x); }
__device__ __forceinline__ float acos_(float x) { return acosf(x); }
__device__ __forceinline__ float atan_(float x) { return atanf(x); }
__device__ __forceinline__ float sinh_(float x) { return sinhf(x); }
__device__ __forceinline__ float cosh_(float x) { return coshf(x); }
__device__ __forceinline__ float asinh_(float x) { return asinhf(x); }
__device__ __forceinline__ float acosh_(float x) { return acoshf(x); }
__device__ __forceinline__ float atanh_(float x) { return atanhf(x); }
__device__ __forceinline__ float exp2_(float x) { return exp2f(x); }
__device__ __forceinline__ float expm1_(float x) { return expm1f(x); }
__device__ __forceinline__ float log2_(float x) { return log2f(x); }
__device__ __forceinline__ float log10_(float x) { return log10f(x); }
__device__ __forceinline__ float log1p_(float x) { return log1pf(x); }
__device__ __forceinline__ float pow_(float a, float b) {
  return b == 2.0f ? a * a : powf(a, b);  // an exponent is mostly a constant
}
__device__ __forceinline__ float floor_(float x) { return floorf(x); }
__device__ __forceinline__ float ceil_(float x) { return ceilf(x); }
__device__ __forceinline__ float rint_(float x) { return rintf(x); }
__device__ __forceinline__ float trunc_(float x) { return truncf(x); }
__device__ __forceinline__ float fmod_(float a, float b) { return fmodf(a, b); }
__device__ __forceinline__ float atan2_(float a, float b) { return atan2f(a, b); }
__device__ __forceinline__ float copysign_(float a, float b) { return copysignf(a, b); }
__device__ __forceinline__ float infinity_() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ float nan_() { return __uint_as_float(0x7fc00000u); }
__device__ __forceinline__ long long place_(long long x) { return x; }
__device__ __forceinline__ long long place_(float x) { return static_cast<long long>(x); }
__device__ __forceinline__ bool isnan_(float x) { return x != x; }
__device__ __forceinline__ float sign_(float x) {
  return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}
// max_ and min_ drop a NaN, maxn_ and minn_ keep it.
__device__ __forceinline__ float max_(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ float min_(float a, float b) { return fminf(a, b); }
__device__ __forceinline__ float maxn_(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}
__device__ __forceinline__ float minn_(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}

__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }

namespace cupilot {
// An input that is not given.
struct Absent {
  template <class... At>
  __device__ __forceinline__ float operator()(At...) const {
    return 0.0f;
  }
};
}  // namespace cupilot

// A combination and what leaves every value as it is.
struct Sum {
  static __device__ __forceinline__ float nothing() { return 0.0f; }
  static __device__ __forceinline__ float of(float a, float b) { return a + b; }
};
struct Prod {
  static __device__ __forceinline__ float nothing() { return 1.0f; }
  static __device__ __forceinline__ float of(float a, float b) { return a * b; }
};
struct Max {
  static __device__ __forceinline__ float nothing() { return -infinity(); }
  static __device__ __forceinline__ float of(float a, float b) { return max_(a, b); }
};
struct Min {
  static __device__ __forceinline__ float nothing() { return infinity(); }
  static __device__ __forceinline__ float of(float a, float b) { return min_(a, b); }
};
struct Maxn {
  static __device__ __forceinline__ float nothing() { return -infinity(); }
  static __device__ __forceinline__ float of(float a, float b) { return maxn_(a, b); }
  // True where a is more extreme; a NaN is the most extreme.
  static __device__ __forceinline__ bool beats(float a, float b) { return !(a <= b) && b == b; }
};
struct Minn {
  static __device__ __forceinline__ float nothing() { return infinity(); }
  static __device__ __forceinline__ float of(float a, float b) { return minn_(a, b); }
  // True where a is more extreme; a NaN is the most extreme.
  static __device__ __forceinline__ bool beats(float a, float b) { return !(a >= b) && b == b; }
};

// Neighbours that may take more than one instruction of 16 bytes. Wants: vector.cuh.
template <class T, int N>
__device__ __forceinline__ Vector<T, N> load_wide(const T* from) {
  constexpr int LIMIT = 16 / static_cast<int>(sizeof(T));
  constexpr int PIECE = N < LIMIT ? N : LIMIT;
  Vector<T, N> out;
#pragma unroll
  for (int first = 0; first < N; first += PIECE) {
    const Vector<T, PIECE> piece = load_vector<T, PIECE>(from + first);
#pragma unroll
    for (int i = 0; i < PIECE; ++i) out.at[first + i] = piece.at[i];
  }
  return out;
}
// Neighbours along a product's columns. Those of 4 bytes are read one by one where they are needed:
// one instruction for four would tie four registers together, and the main loop's are chosen around
// them.
template <class T>
struct ReadInPlace {
  const T* at;
};
template <class T, int N>
__device__ __forceinline__ auto load_columns(const T* from) {
  if constexpr (sizeof(T) < 4) {
    return load_wide<T, N>(from);
  } else {
    return ReadInPlace<T>{from};
  }
}
template <class T, int N, bool STREAMING>
__device__ __forceinline__ void store_wide(T* to, const Vector<T, N>& values) {
  constexpr int LIMIT = 16 / static_cast<int>(sizeof(T));
  constexpr int PIECE = N < LIMIT ? N : LIMIT;
#pragma unroll
  for (int first = 0; first < N; first += PIECE) {
    Vector<T, PIECE> piece;
#pragma unroll
    for (int i = 0; i < PIECE; ++i) piece.at[i] = values.at[first + i];
    if constexpr (STREAMING) {
      store_vector_streaming<T, PIECE>(to + first, piece);
    } else {
      store_vector<T, PIECE>(to + first, piece);
    }
  }
}
