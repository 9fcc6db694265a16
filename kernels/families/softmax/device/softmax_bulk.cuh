// A contiguous part of a row from global to shared memory by the copy engine, and words to the
// shared memory of other blocks of a cluster. Wants: softmax_row.cuh, barrier.cuh.

// Both addresses and `bytes` are multiples of 16. The bytes are counted down on `barrier`.
// STREAM: L2 should rather give up these lines than others.
template <bool STREAM>
__device__ __forceinline__ void copy_bulk(unsigned to, const void* from, int bytes,
                                          unsigned barrier) {
  if constexpr (STREAM) {
    asm volatile(
        "{\n"
        ".reg .b64 policy;\n"
        "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1], %2, [%3], policy;\n"
        "}" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
  }
}

// `there` as address_in() gives it. The receiver reads after a barrier of the cluster.
__device__ __forceinline__ void send_share(unsigned there, const Share& share) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(share.largest),
               "f"(share.sum)
               : "memory");
}

// The two halves of cluster_wait(), with work between them.
__device__ __forceinline__ void cluster_begun() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
