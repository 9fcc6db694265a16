// The pipeline of a Hopper GEMM. Blocks stay on their SM and take one tile of the output after
// another. A producer thread feeds slabs of the operands into a ring of stages in shared memory;
// consumer warpgroups multiply them on tensor cores.
//
// The life of a stage:  filled    by copies of the producer, which waits for `empty` and tells
// `full` the bytes to expect
//                       drained   by the products of its consumers, once `full` says that the bytes
//                       have landed released  by an arrival of each consumer warp at `empty`, once
//                       its products were waited for
//
// Blocks of a cluster lie side by side along M or N and need the same columns, or rows. Each copies
// its share of these into the shared memory of all, so a stage is empty only when every block that
// it is copied into has released it.
//
// Wants: TILE_N, CONSUMERS, STAGES, STRIPS, CURVE, GROUP_M, BATCHED; warpgroups.cuh, cluster.cuh,
// schedule.cuh; of the template: RowSlab and ColumnSlab, what a stage holds of either operand;
// BLOCK_M, rows of a block's tile; DRAINERS, the consumers that share a stage; STRIP_BYTES.
constexpr int STAGE_BYTES = RowSlab::BYTES + ColumnSlab::BYTES;

// Shared memory: the stages; STRIPS a warp in which results become whole rows, one being filled
// while others are copied out; barriers.
constexpr int STRIPS_AT = STAGES * STAGE_BYTES;
constexpr int BARRIERS_AT = STRIPS_AT + CONSUMERS * 4 * STRIPS * STRIP_BYTES;
struct Memory {
  unsigned base;
  __device__ __forceinline__ unsigned rows(int stage) const { return base + stage * STAGE_BYTES; }
  __device__ __forceinline__ unsigned columns(int stage) const {
    return rows(stage) + RowSlab::BYTES;
  }
  __device__ __forceinline__ unsigned strips(int consumer_warp) const {
    return base + STRIPS_AT + consumer_warp * STRIPS * STRIP_BYTES;
  }
  __device__ __forceinline__ unsigned full(int stage) const {
    return base + BARRIERS_AT + stage * 16;
  }
  __device__ __forceinline__ unsigned empty(int stage) const { return full(stage) + 8; }
};
constexpr int LAST_AT =
    BARRIERS_AT + STAGES * 16;  // a byte a consumer, for tiles that several blocks sum

using Route = Walk<CURVE != 0, GROUP_M>;

// Before anybody waits for them or copies to them.
__device__ __forceinline__ void prepare_barriers(const Memory& memory) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      init_barrier(memory.full(stage), 1);
      init_barrier(memory.empty(stage), DRAINERS * 4 * Place::FILLERS);
    }
    publish_barriers();
  }
  if constexpr (CLUSTER > 1) {
    cluster_wait();
  } else {
    __syncthreads();
  }
}

// The slabs of a piece of work as they lie along K.
struct InOrder {
  template <class Fill>
  static __device__ __forceinline__ void walk(const WorkList&, const Work& work, Fill fill) {
#pragma unroll 1
    for (int slab = work.first_slab; slab < work.first_slab + work.slabs; ++slab) fill(slab);
  }
};

// The producer: one thread. Fills stage after stage, for every piece of the cluster's work, with
// its slabs in an Order.
template <class Order>
__device__ __forceinline__ void fill_ring(const Memory& memory, const Place& place, Route route,
                                          const TensorMap& map_rows, const TensorMap& map_columns) {
  Ring<STAGES> ring;
  while (route.more()) {
    const Work work = route.next();
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M;
    const int column = (work.tile.n * CLUSTER_N + place.n) * TILE_N;
    Order::walk(route.list, work, [&](int slab) {
      wait_barrier(memory.empty(ring.stage), ring.parity ^ 1);
      const unsigned full = memory.full(ring.stage);
      arrive_expecting(full, STAGE_BYTES);  // copied here by all blocks of the cluster
      RowSlab::fill(memory.rows(ring.stage), map_rows, full, row, slab, work.batch, place.n,
                    place.sharers_of_a());
      ColumnSlab::fill(memory.columns(ring.stage), map_columns, full, column, slab, work.batch,
                       place.m, place.sharers_of_b());
      ring.advance();
    });
  }
}

// A consumer warpgroup's place in the ring. Templates add the sums, and how they come about.
struct Drainer {
  Memory memory;
  int index;       // among consumers
  int warp, lane;  // of the warpgroup, of the warp
  Ring<STAGES> ring;
  unsigned release_to;  // the first `empty` that this lane arrives at; lanes from FILLERS on arrive
                        // nowhere

  __device__ __forceinline__ Drainer(const Memory& shared, const Place& place, int consumer)
      : memory(shared), index(consumer) {
    warp = static_cast<int>(threadIdx.x) / 32 % 4;
    lane = static_cast<int>(threadIdx.x) % 32;
    release_to = memory.empty(0);
    if constexpr (CLUSTER > 1)
      release_to = address_in(release_to, place.filler(lane < Place::FILLERS ? lane : 0));
  }

  // For the stage that is next.
  __device__ __forceinline__ void wait() const {
    wait_barrier(memory.full(ring.stage), ring.parity);
  }

  __device__ __forceinline__ void release(int stage) const {
    if constexpr (CLUSTER > 1) {
      if (lane < Place::FILLERS) arrive_remote(release_to + stage * 16);
    } else {
      if (lane == 0) arrive(release_to + stage * 16);
    }
  }
};

// Which warpgroup of the block this is: a consumer's number, or CONSUMERS for the producer's. The
// same for all lanes, and known to be: descriptors then live in uniform registers.
__device__ __forceinline__ int own_warpgroup() {
  return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / GROUP, 0);
}

// All that the producer's warpgroup does.
template <class Order = InOrder>
__device__ __forceinline__ void produce(const Memory& memory, const Place& place,
                                        const Route& route, const TensorMap& map_rows,
                                        const TensorMap& map_columns) {
  if constexpr (REALLOCATE) take_registers<PRODUCER_REGISTERS, false>();
  if (threadIdx.x % GROUP == 0) fill_ring<Order>(memory, place, route, map_rows, map_columns);
  __syncwarp();
}

// A consumer calls these before its first tile and after its last.
__device__ __forceinline__ void begin_consuming() {
  if constexpr (REALLOCATE) take_registers<CONSUMER_REGISTERS, true>();
}
__device__ __forceinline__ void end_consuming() {
  if constexpr (STRIPS != 0)
    wait_stores_read<0>();  // the strips must outlive the copies that read them
}

// Nobody leaves while a neighbour may still copy into its stages or arrive at its barriers.
__device__ __forceinline__ void leave_cluster() {
  if constexpr (CLUSTER > 1) cluster_wait();
}
