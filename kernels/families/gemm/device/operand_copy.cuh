// One operand's way from global memory, for blocks whose every thread both fills and drains: which
// elements of a slab a thread copies. What becomes of them in shared memory is the template's own.
// Wants: THREADS, BLOCK_K, FULL_PATH, CACHE_HINT; vector.cuh.

// o is the row of A or the column of B. K_FAST: neighbours along K are adjacent in memory (A as
// stored, or B transposed); otherwise neighbours along o are. A copy moves WIDTH adjacent elements.
template <class T, int OUTER, bool K_FAST, int WIDTH>
struct OperandCopy {
  static constexpr int PER_LINE =
      (K_FAST ? BLOCK_K : OUTER) / WIDTH;  // copies along the adjacent dimension
  static constexpr int COPIES = OUTER * BLOCK_K / WIDTH;
  static constexpr int EACH = (COPIES + THREADS - 1) / THREADS;  // copies a thread makes
  // With a fast path for whole slabs, the careful one is seldom run and may stay small.
  static constexpr int TAIL_UNROLL = FULL_PATH != 0 ? 1 : EACH;

  struct Place {
    int o, k;
  };
  // Place within a slab at which a copy starts. Copies are dealt to threads in turn: thread t makes
  // t, t + THREADS, ...; its later ones lie a constant step from its first.
  static __device__ constexpr Place place(int copy) {
    const int line = copy / PER_LINE;
    const int along = copy % PER_LINE * WIDTH;
    return K_FAST ? Place{line, along} : Place{along, line};
  }
  static_assert(THREADS % PER_LINE == 0 || PER_LINE % THREADS == 0,
                "copies of a thread lie at constant steps");
  static __device__ __forceinline__ bool mine(int i) {
    return COPIES % THREADS == 0 || static_cast<int>(threadIdx.x) + i * THREADS < COPIES;
  }

  const T* matrix_start;  // a legal address for copies of nothing
  const T* origin;        // this thread's first element of slab 0
  int pitch;              // elements between lines in global memory
  int o, k;               // place of that element in its slab
  int count;              // rows or columns that exist from the block's first: at least 1
  bool aligned;           // vectors of WIDTH elements may be loaded
  bool all_outer;         // every row or column of the block exists, and vectors are aligned

  __device__ __forceinline__ OperandCopy(const T* matrix, int row_pitch, int outer_first,
                                         int outer_count, int k_first) {
    const Place p = place(static_cast<int>(threadIdx.x));
    o = p.o;
    k = p.k;
    pitch = row_pitch;
    matrix_start = matrix;
    origin = matrix + (K_FAST ? static_cast<long long>(outer_first + o) * pitch + k_first + k
                              : static_cast<long long>(k_first + k) * pitch + outer_first + o);
    count = outer_count - outer_first;
    aligned = rows_aligned(matrix, row_pitch, WIDTH);
    all_outer = FULL_PATH != 0 && aligned && count >= OUTER;
  }

  // Element of this thread's i-th copy of a slab.
  __device__ __forceinline__ const T* from(int slab, int i) const {
    const Place step = place(i * THREADS);
    const T* first =
        origin + (K_FAST ? slab * BLOCK_K : static_cast<long long>(slab * BLOCK_K) * pitch);
    return first + (K_FAST ? static_cast<long long>(step.o) * pitch + step.k
                           : static_cast<long long>(step.k) * pitch + step.o);
  }
  static __device__ __forceinline__ Vector<T, WIDTH> load_chunk(const T* address) {
    if constexpr (CACHE_HINT != 0) return load_vector_streaming<T, WIDTH>(address);
    return load_vector<T, WIDTH>(address);
  }
  // Elements of that copy that exist, when the slab holds k_left of K; the others become zeros.
  __device__ __forceinline__ int present(int i, int k_left) const {
    const Place step = place(i * THREADS);
    const int outer = count - o - step.o;
    const int inner = k_left - k - step.k;
    return outer > 0 && inner > 0 ? min(WIDTH, K_FAST ? inner : outer) : 0;
  }
};
