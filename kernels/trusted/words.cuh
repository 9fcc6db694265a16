// Words that memory holds before a kernel runs: poison inside of a region, guards around it.
#ifndef CUPILOT_TRUSTED_WORDS_CUH
#define CUPILOT_TRUSTED_WORDS_CUH

typedef unsigned long long u64;
typedef long long i64;

#define FIRST (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x)
#define STEP (static_cast<i64>(gridDim.x) * blockDim.x)

// Seen as fp32, bf16 or fp64 every element of the first is a NaN or far from any honest result,
// every element of the second a large finite number. In fp16 half of the first are NaNs; the others
// are numbers that honest sums reach.
__device__ constexpr u64 poison_word = 0xDE5A7F437FC0DE5Aull;
__device__ constexpr u64 large_word = 0x7149F2CA7149F2CAull;
__device__ constexpr u64 guard_word = 0x5BADC0DE5BADC0DEull;

// Contents that a region is initialised with.
enum Inside : int { inside_kept, inside_poison, inside_zeros, inside_large };

__device__ inline u64 inside_word(int inside) {
  return inside == inside_poison ? poison_word : inside == inside_large ? large_word : 0;
}
__device__ inline unsigned char guard_byte(i64 at) {
  return static_cast<unsigned char>(guard_word >> (at % 8 * 8));
}
// Eight bytes of a repeated word from byte `at` on.
__device__ inline u64 turned(u64 word, i64 at) {
  const int bits = static_cast<int>(at % 8) * 8;
  return bits == 0 ? word : (word >> bits) | (word << (64 - bits));
}

#endif
