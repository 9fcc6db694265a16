// What happens to an accumulated sum before it is stored: D = act(alpha * sum + beta * C + bias).
__device__ __forceinline__ float activate(float x) {
  if constexpr (ACT == 1) return fmaxf(x, 0.0f);                                      // relu
  if constexpr (ACT == 2) return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));  // gelu
  if constexpr (ACT == 3) return x / (1.0f + expf(-x));                               // silu
  if constexpr (ACT == 4) return tanhf(x);
  if constexpr (ACT == 5) return 1.0f / (1.0f + expf(-x));  // sigmoid
  return x;
}

// The output of one matrix of the batch. C is laid out as D; `bias` holds one value a column.
struct Epilogue {
  T_D* d;
  const T_C* c;
  const T_bias* bias;
  float alpha, beta;
  int m, n;
  bool aligned;  // every row starts at a multiple of STORE_VECTOR elements

  __device__ __forceinline__ float finish(float sum, long long at, int column) const {
    float value = sum;
    if constexpr (HAS_ALPHA != 0) value *= alpha;
    if constexpr (HAS_C != 0) value = fmaf(beta, to_float(c[at]), value);
    if constexpr (HAS_BIAS != 0) value += to_float(bias[column]);
    return activate(value);
  }
  // The same for an element that may lie outside, where anything will do.
  __device__ __forceinline__ float finish_inside(float sum, int row, int column) const {
    if (HAS_C + HAS_BIAS != 0 && (row >= m || column >= n)) return 0.0f;
    return finish(sum, static_cast<long long>(row) * n + column, column);
  }

  // Stores COUNT neighbours of one row, starting at a multiple of COUNT, in pieces of at most STORE_VECTOR elements.
  template <int COUNT>
  __device__ __forceinline__ void store(int row, int column, const float (&sum)[COUNT]) const {
    constexpr int BY_BYTES = 16 / static_cast<int>(sizeof(T_D));  // at most 16 bytes a store
    constexpr int LIMIT = STORE_VECTOR < BY_BYTES ? STORE_VECTOR : BY_BYTES;
    constexpr int PIECE = COUNT < LIMIT ? COUNT : LIMIT;
    if (row >= m) return;
    const long long start = static_cast<long long>(row) * n;
#pragma unroll
    for (int first = 0; first < COUNT; first += PIECE) {
      const long long at = start + column + first;
      if (PIECE > 1 && aligned && column + first + PIECE <= n) {
        Vector<T_D, PIECE> out;
#pragma unroll
        for (int i = 0; i < PIECE; ++i) out.at[i] = from_float<T_D>(finish(sum[first + i], at + i, column + first + i));
        if constexpr (STREAM_STORE != 0) {
          store_vector_streaming<T_D, PIECE>(d + at, out);
        } else {
          store_vector<T_D, PIECE>(d + at, out);
        }
      } else {
#pragma unroll
        for (int i = 0; i < PIECE; ++i) {
          if (column + first + i < n) d[at + i] = from_float<T_D>(finish(sum[first + i], at + i, column + first + i));
        }
      }
    }
  }
};

template <class T>
__device__ __forceinline__ bool rows_aligned(const T* base, int pitch, int elements) {
  return pitch % elements == 0 && reinterpret_cast<unsigned long long>(base) % (elements * sizeof(T)) == 0;
}

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
