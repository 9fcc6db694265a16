// A cluster's blocks lie side by side: CLUSTER_M along M, CLUSTER_N along N. Those of one `m` share
// rows of A, those of one `n` columns of B; each copies its share of these into the shared memory
// of all that need them. Wants: CLUSTER_M, CLUSTER_N; barrier.cuh.
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;
static_assert(CLUSTER_M <= 2 && CLUSTER_N <= 2, "the masks below");

// Position of this block in its cluster.
struct Place {
  int m = 0, n = 0;
  __device__ __forceinline__ Place() {
    if constexpr (CLUSTER > 1) {
      const int rank = cluster_rank();
      m = rank % CLUSTER_M;
      n = rank / CLUSTER_M;
    }
  }
  static __device__ __forceinline__ int rank(int m, int n) { return n * CLUSTER_M + m; }
  // Bit r stands for the block of rank r.
  __device__ __forceinline__ unsigned short sharers_of_a() const {
    return static_cast<unsigned short>((CLUSTER_N == 2 ? 1 | 1 << CLUSTER_M : 1) << m);
  }
  __device__ __forceinline__ unsigned short sharers_of_b() const {
    return static_cast<unsigned short>((CLUSTER_M == 2 ? 3 : 1) << (n * CLUSTER_M));
  }
  // Blocks that copy into this one's stages: CLUSTER_M + CLUSTER_N - 1, itself among them.
  static constexpr int FILLERS = CLUSTER_M + CLUSTER_N - 1;
  __device__ __forceinline__ int filler(int index) const {
    return index < CLUSTER_N ? rank(m, index) : rank((m + index - CLUSTER_N + 1) % CLUSTER_M, n);
  }
};
