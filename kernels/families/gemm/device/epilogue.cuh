// What happens to an accumulated sum before it is stored: D = act(alpha * sum + beta * C + bias).
// Wants: STORE_VECTOR, STREAM_STORE, HAS_ALPHA, HAS_C, HAS_BIAS, ACT, T_C, T_bias, T_D; vector.cuh.
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

  // That of the matrix `batch` matrices further on.
  __device__ __forceinline__ Epilogue of_batch(int batch) const {
    Epilogue other = *this;
    const long long start = static_cast<long long>(batch) * m * n;
    other.d = d + start;
    if (HAS_C != 0) other.c = c + start;
    other.aligned = aligned && start % STORE_VECTOR == 0;
    return other;
  }

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

  // Stores COUNT neighbours of one row, starting at a multiple of COUNT, in pieces of at most
  // STORE_VECTOR elements.
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
        for (int i = 0; i < PIECE; ++i)
          out.at[i] = from_float<T_D>(finish(sum[first + i], at + i, column + first + i));
        if constexpr (STREAM_STORE != 0) {
          store_vector_streaming<T_D, PIECE>(d + at, out);
        } else {
          store_vector<T_D, PIECE>(d + at, out);
        }
      } else {
#pragma unroll
        for (int i = 0; i < PIECE; ++i) {
          if (column + first + i < n)
            d[at + i] = from_float<T_D>(finish(sum[first + i], at + i, column + first + i));
        }
      }
    }
  }
};

template <class T>
__device__ __forceinline__ bool rows_aligned(const T* base, int pitch, int elements) {
  return pitch % elements == 0 &&
         reinterpret_cast<unsigned long long>(base) % (elements * sizeof(T)) == 0;
}
