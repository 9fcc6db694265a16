// A row of x and of y in chunks of VECTOR elements. Chunks begin at multiples of VECTOR of the
// whole tensor, so that those inside the row move in one access whatever `cols` is; the first and
// the last may be cut, and move element by element. Arithmetic is fp32.
// Wants: VECTOR, LOAD_HINT, STORE_HINT, FAST_EXP, LOG; vector.cuh.
#include "cupilot/pairs.cuh"
constexpr int CHUNK = VECTOR * static_cast<int>(sizeof(T_x));  // bytes
constexpr int WORDS = CHUNK < 4 ? 1 : CHUNK / 4;
using Chunk = Vector<unsigned, WORDS>;  // elements as they are stored, packed in registers
static_assert(sizeof(T_x) == sizeof(T_y), "a chunk of x and its chunk of y have the same place");

// Elements of a type within words. MINUS_INFINITY fills a word.
template <class T>
struct Packed {
  static constexpr unsigned MINUS_INFINITY = sizeof(T) == sizeof(bf16) ? 0xff80ff80u : 0;
  static __device__ __forceinline__ T at(const Chunk& chunk, int j) {
    return T{static_cast<unsigned short>(chunk.at[j / 2] >> (j % 2 * 16))};
  }
  static __device__ __forceinline__ void put(Chunk& chunk, int j, T value) {
    const unsigned kept = 0xffffu << ((j + 1) % 2 * 16);
    chunk.at[j / 2] = (chunk.at[j / 2] & kept) | static_cast<unsigned>(value.bits) << (j % 2 * 16);
  }
  static __device__ __forceinline__ void put_all(Chunk& chunk, const float (&value)[VECTOR]) {
    if constexpr (VECTOR == 1) {
      chunk.at[0] = from_float<T>(value[0]).bits;
    } else {
#pragma unroll
      for (int w = 0; w < WORDS; ++w) chunk.at[w] = pack_pair<T>(value[2 * w], value[2 * w + 1]);
    }
  }
};
template <>
constexpr unsigned Packed<fp16>::MINUS_INFINITY = 0xfc00fc00u;
template <>
struct Packed<float> {
  static constexpr unsigned MINUS_INFINITY = 0xff800000u;
  static __device__ __forceinline__ float at(const Chunk& chunk, int j) {
    return __uint_as_float(chunk.at[j]);
  }
  static __device__ __forceinline__ void put(Chunk& chunk, int j, float value) {
    chunk.at[j] = __float_as_uint(value);
  }
  static __device__ __forceinline__ void put_all(Chunk& chunk, const float (&value)[VECTOR]) {
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) put(chunk, j, value[j]);
  }
};
__device__ __forceinline__ float element(const Chunk& chunk, int j) {
  return to_float(Packed<T_x>::at(chunk, j));
}
__device__ __forceinline__ Chunk empty_chunk() {
  Chunk chunk;
#pragma unroll
  for (int w = 0; w < WORDS; ++w) chunk.at[w] = Packed<T_x>::MINUS_INFINITY;
  return chunk;
}
__device__ __forceinline__ float minus_infinity() { return __uint_as_float(0xff800000u); }

// exp(x) of a difference from a maximum: x is not above 0. FAST_EXP leaves it to the special
// function unit; its error is some 2 units of 2^-23 and that of x * log2(e).
__device__ __forceinline__ float exponential(float x) {
  if constexpr (FAST_EXP != 0) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.44269504f));
    return result;
  } else {
    return expf(x);
  }
}

// A share of a row: its largest element, and the sum of exp(x - base_of(largest)).
struct Share {
  float largest, sum;
};
__device__ __forceinline__ Share empty_share() { return {minus_infinity(), 0.0f}; }
// If all elements are minus infinity, 0 stands in for the maximum: their exponentials are 0, and
// a row of them alone ends as 0 / 0, which is NaN as it should be.
__device__ __forceinline__ float base_of(float largest) {
  return largest == minus_infinity() ? 0.0f : largest;
}

// Over LANES neighbouring lanes; all lanes of the warp take part and get their team's result.
template <int LANES>
__device__ __forceinline__ float largest_of(float value) {
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}
template <int LANES>
__device__ __forceinline__ float sum_of(float value) {
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

// Joins COUNT shares in shared memory, in an order that does not depend on timing; whole warps call
// it. COUNT is a power of two.
template <int COUNT>
__device__ __forceinline__ Share join_shares(const Share* shares) {
  constexpr int EACH = (COUNT + 31) / 32;
  constexpr int LANES = COUNT >= 32 ? 32 : COUNT;
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  Share mine[EACH];
  Share all = empty_share();
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    mine[i] = shares[i * 32 + lane];
    all.largest = fmaxf(all.largest, mine[i].largest);
  }
  all.largest = largest_of<LANES>(all.largest);
#pragma unroll
  for (int i = 0; i < EACH; ++i)
    all.sum += mine[i].sum * exponential(mine[i].largest - base_of(all.largest));
  all.sum = sum_of<LANES>(all.sum);
  return all;
}

struct Row {
  const T_x* x;
  T_y* y;
  int cols;
  int before;    // elements of the first chunk that lie before the row
  bool aligned;  // whole chunks may move in one access

  __device__ __forceinline__ Row(const T_x* xs, T_y* ys, long long row, int columns)
      : cols(columns) {
    const long long at = row * columns;
    x = xs + at;
    y = ys + at;
    before = static_cast<int>(at & (VECTOR - 1));
    aligned =
        VECTOR == 1 ||
        ((reinterpret_cast<unsigned long long>(xs) | reinterpret_cast<unsigned long long>(ys)) &
         (CHUNK - 1)) == 0;
  }

  __device__ __forceinline__ int chunks() const { return (before + cols + VECTOR - 1) / VECTOR; }
  // Column of a chunk's first element, below 0 where the first chunk is cut.
  __device__ __forceinline__ int column(int chunk) const { return chunk * VECTOR - before; }
  __device__ __forceinline__ bool whole(int column) const {
    return aligned && column >= 0 && column + VECTOR <= cols;
  }
  __device__ __forceinline__ bool holds(int column) const { return column >= 0 && column < cols; }
  // No chunk of this row is cut.
  __device__ __forceinline__ bool smooth() const {
    return aligned && before == 0 && cols % VECTOR == 0;
  }
};

__device__ __forceinline__ Chunk load_whole(const T_x* from) {
  if constexpr (CHUNK < 4) return {*reinterpret_cast<const unsigned short*>(from)};
  const unsigned* words = reinterpret_cast<const unsigned*>(from);
  if constexpr (LOAD_HINT != 0) return load_vector_streaming<unsigned, WORDS>(words);
  return load_vector<unsigned, WORDS>(words);
}
// `from`: the address of `column`. Minus infinity stands for what lies outside of the row.
__device__ __forceinline__ Chunk load_cut(const Row& row, const T_x* from, int column) {
  Chunk chunk = empty_chunk();
#pragma unroll
  for (int j = 0; j < VECTOR; ++j)
    if (row.holds(column + j)) Packed<T_x>::put(chunk, j, from[j]);
  return chunk;
}

// `to`: the address of `column`. What lies outside of the row is left out.
__device__ __forceinline__ void store_chunk(const Row& row, T_y* to, int column,
                                            const float (&value)[VECTOR]) {
  if (CHUNK >= 4 && row.whole(column)) {
    Chunk chunk;
    Packed<T_y>::put_all(chunk, value);
    unsigned* words = reinterpret_cast<unsigned*>(to);
    if constexpr (STORE_HINT != 0) {
      store_vector_streaming<unsigned, WORDS>(words, chunk);
    } else {
      store_vector<unsigned, WORDS>(words, chunk);
    }
  } else {
#pragma unroll
    for (int j = 0; j < VECTOR; ++j)
      if (row.holds(column + j)) to[j] = from_float<T_y>(value[j]);
  }
}
