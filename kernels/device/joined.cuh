// Folds what rows gave over all of them: a thread's share, a block's, and those of all blocks by
// the last of them to arrive. Wants: team.cuh, a Graph of rows.

struct JoinShare {
  float of[JOINS > 0 ? JOINS : 1];
};

template <int J = 0>
__device__ __forceinline__ void begin_share(JoinShare& share) {
  if constexpr (J < JOINS) {
    share.of[J] = JoinCombiner<J>::type::nothing();
    begin_share<J + 1>(share);
  }
}

// Adds a row, or N neighbouring ones, to a thread's share.
template <int J = 0, class Rows, class Row>
__device__ __forceinline__ void join_row(const Rows& graph, const Row& at, JoinShare& share) {
  if constexpr (J < JOINS) {
    share.of[J] = graph.template join<J>(at, share.of[J]);
    join_row<J + 1>(graph, at, share);
  }
}

template <int J, int THREADS, class Rows>
__device__ __forceinline__ void store_shares(const Rows& graph, const JoinShare& share,
                                             long long slot, long long slots, float* shared) {
  if constexpr (J < JOINS) {
    const float value = of_team<THREADS, typename JoinCombiner<J>::type>(share.of[J], shared);
    if (threadIdx.x == 0) graph.joined_parts[J * slots + slot] = value;
    store_shares<J + 1, THREADS>(graph, share, slot, slots, shared);
  }
}

template <int J, int THREADS, class Rows>
__device__ __forceinline__ void finish_joins(const Rows& graph, typename Rows::Whole& whole,
                                             long long slots, float* shared) {
  if constexpr (J < JOINS) {
    using How = typename JoinCombiner<J>::type;
    float value = How::nothing();
#pragma unroll 4
    for (long long slot = threadIdx.x; slot < slots; slot += THREADS) {
      float part;  // .cg: past L1, which other blocks' stores do not reach
      asm volatile("ld.global.cg.f32 %0, [%1];"
                   : "=f"(part)
                   : "l"(graph.joined_parts + J * slots + slot)
                   : "memory");
      value = How::of(value, part);
    }
    graph.template finish_join<J>(whole, of_team<THREADS, How>(value, shared));
    finish_joins<J + 1, THREADS>(graph, whole, slots, shared);
  }
}

// All threads of a block call it once, with `slot` the block's own of `slots`. `shared`: a value a
// warp. The order in which values combine does not depend on timing.
template <int THREADS, class Rows>
__device__ __forceinline__ void join_blocks(const Rows& graph, const JoinShare& share,
                                            long long slot, long long slots, float* shared) {
  __shared__ bool last;
  store_shares<0, THREADS>(graph, share, slot, slots, shared);
  if (threadIdx.x == 0) {
    __threadfence();  // the shares are visible before the arrival is
    last = atomicAdd(graph.joined_arrivals, 1u) == static_cast<unsigned>(slots - 1);
    if (last) atomicExch(graph.joined_arrivals, 0u);
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  typename Rows::Whole whole;
  finish_joins<0, THREADS>(graph, whole, slots, shared);
  if (threadIdx.x == 0) graph.store_whole(whole);
}
