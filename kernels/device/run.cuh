// Neighbours of a row that lie anywhere, in either order. Wants: vector.cuh.

// The element at `from` and those after it, BACK: before it; in one instruction where they lie at a
// multiple of their size.
template <class T, int N, bool BACK, bool STREAMING>
__device__ __forceinline__ Vector<T, N> load_run(const T* from) {
  const T* low = BACK ? from - (N - 1) : from;
  Vector<T, N> lying;
  if (reinterpret_cast<unsigned long long>(low) % (sizeof(T) * N) == 0) {
    lying = STREAMING ? load_vector_streaming<T, N>(low) : load_vector<T, N>(low);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) lying.at[i] = low[i];
  }
  Vector<T, N> out;
#pragma unroll
  for (int i = 0; i < N; ++i) out.at[i] = lying.at[BACK ? N - 1 - i : i];
  return out;
}
