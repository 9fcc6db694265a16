// Barriers in shared memory (mbarrier) and named barriers, by which the warps of a block, and the
// blocks of a cluster, tell one another that memory is full or empty again.
//
// An mbarrier counts arrivals and bytes on their way. Its phase is complete when all arrivals are
// in and all bytes have landed; then the next phase begins. Who waits names the parity of the
// phase: 0 for the first, 1 for the second, 0 again. A fresh barrier lets a wait for parity 1 pass,
// as if the phase before the first were complete: that is how producers find every stage empty at
// the start.
using Barrier = unsigned long long;

__device__ __forceinline__ void init_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// After all are initialised and before any block or copy engine may use them; a barrier of the
// block or cluster follows.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(arrivals)
               : "memory");
}
// Arrives, and says how many bytes of copies the phase must still wait for.
__device__ __forceinline__ void arrive_expecting(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Returns the address of the same place in the shared memory of another block of the cluster.
__device__ __forceinline__ unsigned address_in(unsigned shared, int rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(rank));
  return there;
}
__device__ __forceinline__ void arrive_remote(unsigned there) {
  // Has default scope on purpose: a release at cluster scope costs a memory barrier in the main
  // loop, and what a consumer releases was only read.
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}
// Sleeps in hardware between tries. FROM_CLUSTER: sees what other blocks have sent.
template <bool FROM_CLUSTER = false>
__device__ __forceinline__ void wait_barrier(unsigned barrier, unsigned parity) {
  // Not bra.uni: lanes of a warp may see the phase end at different tries.
#define CUPILOT_WAIT(SCOPE)                \
  asm volatile(                            \
      "{\n"                                \
      ".reg .pred done;\n"                 \
      "again:\n"                           \
      "mbarrier.try_wait.parity" SCOPE     \
      ".shared::cta.b64 done, [%0], %1;\n" \
      "@done bra over;\n"                  \
      "bra again;\n"                       \
      "over:\n"                            \
      "}" ::"r"(barrier),                  \
      "r"(parity)                          \
      : "memory")
  if constexpr (FROM_CLUSTER) {
    CUPILOT_WAIT(".acquire.cluster");
  } else {
    CUPILOT_WAIT("");
  }
#undef CUPILOT_WAIT
}

// Named barriers, numbered 1 to 15 (0 is __syncthreads): complete when `threads` have come, by
// waiting or by passing.
__device__ __forceinline__ void named_wait(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_pass(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// The halves of cluster_wait().
__device__ __forceinline__ void cluster_begun() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Every thread of every block of the cluster.
__device__ __forceinline__ void cluster_wait() {
  cluster_begun();
  wait_for_cluster();
}
