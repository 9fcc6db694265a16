// Several neighbouring elements that move in one memory instruction. The address must be a multiple
// of the whole size.
template <class T, int COUNT>
struct alignas(sizeof(T) * COUNT) Vector {
  T at[COUNT];
};

template <int BYTES>
struct Words;  // the register type an instruction of that width uses
template <>
struct Words<1> {
  using type = unsigned char;
};
template <>
struct Words<2> {
  using type = unsigned short;
};
template <>
struct Words<4> {
  using type = unsigned;
};
template <>
struct Words<8> {
  using type = uint2;
};
template <>
struct Words<16> {
  using type = uint4;
};

// An element-wise view of a vector would tempt the compiler into narrow accesses; these go through
// the whole word.
template <class T, int COUNT>
__device__ __forceinline__ Vector<T, COUNT> load_vector(const T* from) {
  using Word = typename Words<sizeof(T) * COUNT>::type;
  union Both {
    Word word;
    Vector<T, COUNT> vector;
    __device__ Both() {}
  } both;
  both.word = *reinterpret_cast<const Word*>(from);
  return both.vector;
}

// Operands that this block reads once: they need not displace anything in L1, and L2 may fetch
// whole lines.
template <class T, int COUNT>
__device__ __forceinline__ Vector<T, COUNT> load_vector_streaming(const T* from) {
  union Both {
    unsigned words[(sizeof(T) * COUNT + 3) / 4];
    Vector<T, COUNT> vector;
    __device__ Both() {}
  } both;
  if constexpr (sizeof(T) * COUNT == 16) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(both.words[0]), "=r"(both.words[1]), "=r"(both.words[2]),
                   "=r"(both.words[3])
                 : "l"(from));
  } else if constexpr (sizeof(T) * COUNT == 8) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.b32 {%0, %1}, [%2];"
                 : "=r"(both.words[0]), "=r"(both.words[1])
                 : "l"(from));
  } else if constexpr (sizeof(T) * COUNT == 4) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.b32 %0, [%1];"
                 : "=r"(both.words[0])
                 : "l"(from));
  } else {
    return load_vector<T, COUNT>(from);
  }
  return both.vector;
}

template <class T, int COUNT>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, COUNT>& value) {
  using Word = typename Words<sizeof(T) * COUNT>::type;
  union Both {
    Word word;
    Vector<T, COUNT> vector;
    __device__ Both() {}
  } both;
  both.vector = value;
  *reinterpret_cast<Word*>(to) = both.word;
}

// Written once and not read again by this kernel: may leave the cache first.
template <class T, int COUNT>
__device__ __forceinline__ void store_vector_streaming(T* to, const Vector<T, COUNT>& value) {
  union Both {
    Vector<T, COUNT> vector;
    unsigned short halves[(sizeof(T) * COUNT + 1) / 2];
    unsigned words[(sizeof(T) * COUNT + 3) / 4];
    __device__ Both() {}
  } both;
  both.vector = value;
  if constexpr (sizeof(T) * COUNT == 16) {
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(both.words[0]),
                 "r"(both.words[1]), "r"(both.words[2]), "r"(both.words[3])
                 : "memory");
  } else if constexpr (sizeof(T) * COUNT == 8) {
    asm volatile("st.global.cs.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(both.words[0]),
                 "r"(both.words[1])
                 : "memory");
  } else if constexpr (sizeof(T) * COUNT == 4) {
    asm volatile("st.global.cs.b32 [%0], %1;" ::"l"(to), "r"(both.words[0]) : "memory");
  } else if constexpr (sizeof(T) * COUNT == 2) {
    asm volatile("st.global.cs.b16 [%0], %1;" ::"l"(to), "h"(both.halves[0]) : "memory");
  } else {
    store_vector(to, value);
  }
}
