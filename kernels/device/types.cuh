// Storage types as plain bit patterns, and their conversion from and to float. The target's own
// instructions do the rounding (to nearest even), so no toolkit header is needed.
struct bf16 {
  unsigned short bits;
};
struct fp16 {
  unsigned short bits;
};
struct e4m3 {
  unsigned char bits;
};
struct e5m2 {
  unsigned char bits;
};

template <class T>
__device__ __forceinline__ float to_float(T value) {
  return static_cast<float>(value);
}
// A bfloat16 is the upper half of a float.
__device__ __forceinline__ float to_float(bf16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
__device__ __forceinline__ float to_float(fp16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
// 8-bit floats convert in pairs through fp16; the upper one is zero.
__device__ __forceinline__ float to_float(e4m3 value) {
  const unsigned short pair = value.bits;
  unsigned halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return to_float(fp16{static_cast<unsigned short>(halves)});
}
__device__ __forceinline__ float to_float(e5m2 value) {
  const unsigned short pair = value.bits;
  unsigned halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return to_float(fp16{static_cast<unsigned short>(halves)});
}

// from_float<T>: the nearest value of the storage type.
template <class T>
struct FromFloat {
  static __device__ __forceinline__ T of(float value) { return static_cast<T>(value); }
};
template <>
struct FromFloat<bf16> {
  static __device__ __forceinline__ bf16 of(float value) {
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};
template <>
struct FromFloat<fp16> {
  static __device__ __forceinline__ fp16 of(float value) {
    fp16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};
template <>
struct FromFloat<e4m3> {
  static __device__ __forceinline__ e4m3 of(float value) {
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return e4m3{static_cast<unsigned char>(pair)};
  }
};
template <>
struct FromFloat<e5m2> {
  static __device__ __forceinline__ e5m2 of(float value) {
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return e5m2{static_cast<unsigned char>(pair)};
  }
};
template <class T>
__device__ __forceinline__ T from_float(float value) {
  return FromFloat<T>::of(value);
}
