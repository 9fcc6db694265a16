// The way of finished sums to memory, through the operators that follow the product (graph.cuh).
// Wants: STORE_VECTOR, BATCHED, T_D.
#include "cupilot/graph.cuh"

template <class T>
__device__ __forceinline__ bool rows_aligned(const T* base, int pitch, int elements) {
  return pitch % elements == 0 &&
         reinterpret_cast<unsigned long long>(base) % (elements * sizeof(T)) == 0;
}

// The output of one matrix of the batch.
struct Epilogue {
  Graph graph;
  int m, n;
  long long first_row = 0, start = 0;  // row and element of all matrices that its own begin at
  bool aligned;                        // every row starts at a multiple of STORE_VECTOR elements

  __device__ __forceinline__ Epilogue(const Graph& all, int rows, int columns)
      : graph(all),
        m(rows),
        n(columns),
        aligned(rows_aligned(all.output(), n, STORE_VECTOR) && all.aligned(STORE_VECTOR)) {}

  // Returns the epilogue of the matrix `batch` matrices further on.
  __device__ __forceinline__ Epilogue of_batch(int batch) const {
    Epilogue other = *this;
    if constexpr (BATCHED != 0) {
      other.first_row = static_cast<long long>(batch) * m;
      other.start = other.first_row * n;
      other.aligned = aligned && other.start % STORE_VECTOR == 0;
    }
    return other;
  }

  // The output at an element that may lie outside, where anything will do.
  __device__ __forceinline__ float finish_inside(float sum, int row, int column) const {
    if (Graph::READS && (row >= m || column >= n)) return 0.0f;
    return graph.finish(first_row + row, start + static_cast<long long>(row) * n + column, column,
                        sum);
  }

  // Stores COUNT neighbours of one row, starting at a multiple of COUNT, in pieces of at most
  // STORE_VECTOR elements.
  template <int COUNT>
  __device__ __forceinline__ void store(int row, int column, const float (&sum)[COUNT]) const {
    constexpr int BY_BYTES = 16 / static_cast<int>(sizeof(T_D));  // at most 16 bytes a store
    constexpr int LIMIT = STORE_VECTOR < BY_BYTES ? STORE_VECTOR : BY_BYTES;
    constexpr int PIECE = COUNT < LIMIT ? COUNT : LIMIT;
    if (row >= m) return;
    const long long line = start + static_cast<long long>(row) * n;
#pragma unroll
    for (int first = 0; first < COUNT; first += PIECE) {
      const long long at = line + column + first;
      if (PIECE > 1 && aligned && column + first + PIECE <= n) {
        float piece[PIECE];
#pragma unroll
        for (int i = 0; i < PIECE; ++i) piece[i] = sum[first + i];
        graph.store<PIECE>(first_row + row, at, column + first, piece);
      } else {
#pragma unroll
        for (int i = 0; i < PIECE; ++i) {
          if (column + first + i < n)
            graph.store<1>(first_row + row, at + i, column + first + i, {sum[first + i]});
        }
      }
    }
  }
};
