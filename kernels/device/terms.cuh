// Terms of a sum of products in shared memory. Wants: vector.cuh.

// A term of factors at indices that are affine in all coordinates: how far it lies from the first
// one in both tensors, and the bits of the conditions that it asks of a place.
struct FarTerm {
  int left, right;
  unsigned taps;
};

template <int N>
struct FarTerms {
  alignas(16) int left[N];
  alignas(16) int right[N];
  alignas(16) unsigned taps[N];

  __device__ __forceinline__ void keep(int i, const FarTerm& term) {
    left[i] = term.left;
    right[i] = term.right;
    taps[i] = term.taps;
  }
  __device__ __forceinline__ FarTerm at(int i) const { return {left[i], right[i], taps[i]}; }
};

// Terms by their coordinates.
template <class Term, int N>
struct PlacedTerms {
  Term terms[N];

  __device__ __forceinline__ void keep(int i, const Term& term) { terms[i] = term; }
  __device__ __forceinline__ const Term& at(int i) const { return terms[i]; }
};

// The element that lies `far` from one where `refused` is 0, else zero; no branch.
template <class T>
__device__ __forceinline__ T load_unless(unsigned refused, const T* from, int far) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 2 || sizeof(T) == 1);
  union Both {
    unsigned word;
    unsigned short half;
    T value;
    __device__ Both() {}
  } both;
  if constexpr (sizeof(T) == 4) {
    asm("{\n.reg .pred p;\n.reg .b64 a;\nsetp.eq.u32 p, %1, 0;\nmad.wide.s32 a, %3, 4, %2;\n"
        "mov.b32 %0, 0;\n@p ld.global.nc.b32 %0, [a];\n}"
        : "=r"(both.word)
        : "r"(refused), "l"(from), "r"(far));
  } else if constexpr (sizeof(T) == 2) {
    asm("{\n.reg .pred p;\nsetp.eq.u32 p, %1, 0;\nmov.b16 %0, 0;\n@p ld.global.nc.b16 %0, [%2];\n}"
        : "=h"(both.half)
        : "r"(refused), "l"(from + far));
  } else {
    asm("{\n.reg .pred p;\nsetp.eq.u32 p, %1, 0;\nmov.b16 %0, 0;\n@p ld.global.nc.b8 %0, [%2];\n}"
        : "=h"(both.half)
        : "r"(refused), "l"(from + far));
  }
  return both.value;
}

// Elements of four neighbouring terms, 0 for those that ask for what is `outside`.
template <class T, int N>
__device__ __forceinline__ void load_terms(const T* from, unsigned outside, const int (&far)[N],
                                           const unsigned (&taps)[N], int first, float (&out)[4]) {
  const auto distance = load_vector<int, 4>(far + first);
  const auto asked = load_vector<unsigned, 4>(taps + first);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    out[i] = to_float(load_unless(asked.at[i] & outside, from, distance.at[i]));
}
