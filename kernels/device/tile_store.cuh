// Results from the registers of a warp to whole rows in shared memory, from where the copy engine stores them.

// Two neighbours as they lie in memory.
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
// Four 8 x 8 matrices of 16-bit elements to shared memory: lane l gives the address of row l % 8 of matrix l / 8, and holds
// columns 2 (l % 4) and the next of row l / 4 of each.
__device__ __forceinline__ void store_matrices(unsigned to, const unsigned (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]),
               "r"(words[2]), "r"(words[3])
               : "memory");
}
__device__ __forceinline__ void store_shared_pair(unsigned to, float first, float second) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(first), "f"(second) : "memory");
}

// Fills a strip of 16 rows by 128 bytes, swizzled as the copy engine expects, with the finished results of one warp. `s` are
// the sums of the strip's columns as wgmma leaves them (wgmma.cuh); the strip's first element is (top, left) of the output.
template <class T>
__device__ __forceinline__ void fill_strip(const Epilogue& epilogue, unsigned strip, const float* s, int top, int left, int lane) {
  constexpr int EIGHTS = 128 / static_cast<int>(sizeof(T)) / 8;  // groups of 8 columns
  const auto finished = [&](int j, int r) {
    return epilogue.finish_inside(s[4 * j + r], top + lane / 4 + r / 2 * 8, left + j * 8 + lane % 4 * 2 + r % 2);
  };
  if constexpr (sizeof(T) == 2) {
    // Four 8 x 8 matrices at once: rows 0 to 7 and 8 to 15 of two groups. Lane l names row l % 8 of matrix l / 8.
#pragma unroll
    for (int j = 0; j < EIGHTS; j += 2) {
      const unsigned words[4] = {pack_pair<T>(finished(j, 0), finished(j, 1)), pack_pair<T>(finished(j, 2), finished(j, 3)),
                                 pack_pair<T>(finished(j + 1, 0), finished(j + 1, 1)),
                                 pack_pair<T>(finished(j + 1, 2), finished(j + 1, 3))};
      store_matrices(strip + swizzled(lane % 16, j + lane / 16), words);
    }
  } else {
#pragma unroll
    for (int j = 0; j < EIGHTS; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned pair = strip + swizzled(lane / 4 + half * 8, j * 2 + lane % 4 / 2) + lane % 2 * 8;
        store_shared_pair(pair, finished(j, half * 2), finished(j, half * 2 + 1));
      }
    }
  }
}
