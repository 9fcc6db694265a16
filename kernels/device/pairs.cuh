// Two neighbouring elements of 16 bits as they lie in memory, rounded to nearest even in one
// instruction.
template <class T>
__device__ __forceinline__ unsigned pack_pair(float low, float high) {
  return from_float<T>(low).bits | static_cast<unsigned>(from_float<T>(high).bits) << 16;
}
template <>
__device__ __forceinline__ unsigned pack_pair<bf16>(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <>
__device__ __forceinline__ unsigned pack_pair<fp16>(float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
