// The parts of a GEMM whose operands both lie along K: a producer, consumers and what they share in shared memory, as in
// templates/gemm_wgmma.cu (which says how a stage is filled, drained and released), for templates that change the operands or the
// sums. Consumers are cooperative, and a tile is summed by one block.
//
// multiply(): the tensor core adds up all of K. multiply_promoted(): it adds up one slab (128 bytes of K), and ordinary fp32
// additions the slabs: its own sums keep few bits, 13 after the point for 8-bit operands, and cut off the rest.
//
// Wants: TILE_M, TILE_N, CONSUMERS, STAGES, STRIPS, CURVE, GROUP_M, BATCHED, T_A, T_B, T_D; wgmma.cuh, slab.cuh, cluster.cuh,
// schedule.cuh, tile_store.cuh.
constexpr int LINE = 128;  // bytes of a slab's line
constexpr int BLOCK_K = LINE / static_cast<int>(sizeof(T_A));
constexpr int STEPS = LINE / 32;  // products along a slab, 32 bytes of K each
constexpr int BLOCK_M = TILE_M * CONSUMERS;
constexpr int PARTS_M = TILE_M / 64;  // products side by side in a warpgroup
constexpr int PART_BYTES = 64 * LINE;
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int THREADS = GROUP * (CONSUMERS + 1);
// With one block an SM a thread starts with 65536 / THREADS registers; the producer needs few and gives its own away.
constexpr bool REALLOCATE = CONSUMERS > 1;
constexpr int PRODUCER_REGISTERS = CONSUMERS == 2 ? 40 : 32;
constexpr int CONSUMER_REGISTERS = CONSUMERS == 2 ? 232 : 160;

using SlabA = Slab<T_A, BLOCK_M, true, CLUSTER_N>;
using SlabB = Slab<T_B, TILE_N, true, CLUSTER_M>;
constexpr int STAGE_BYTES = SlabA::BYTES + SlabB::BYTES;

// Shared memory: the stages, STRIPS a warp in which results become whole rows, barriers.
constexpr int STRIP_BYTES = 16 * LINE;
constexpr int STRIP_COLUMNS = LINE / static_cast<int>(sizeof(T_D));
constexpr int STRIPS_AT = STAGES * STAGE_BYTES;
constexpr int BARRIERS_AT = STRIPS_AT + CONSUMERS * 4 * STRIPS * STRIP_BYTES;
struct Memory {
  unsigned base;
  __device__ __forceinline__ unsigned a(int stage) const { return base + stage * STAGE_BYTES; }
  __device__ __forceinline__ unsigned b(int stage) const { return a(stage) + SlabA::BYTES; }
  __device__ __forceinline__ unsigned strips(int consumer_warp) const {
    return base + STRIPS_AT + consumer_warp * STRIPS * STRIP_BYTES;
  }
  __device__ __forceinline__ unsigned full(int stage) const { return base + BARRIERS_AT + stage * 16; }
  __device__ __forceinline__ unsigned empty(int stage) const { return full(stage) + 8; }
};

using Route = Walk<CURVE != 0, GROUP_M>;

__device__ __forceinline__ WorkList work_list(int m, int n, int k, int batches) {
  const int slabs = (k + BLOCK_K - 1) / BLOCK_K;
  return {(m + BLOCK_M * CLUSTER_M - 1) / (BLOCK_M * CLUSTER_M),
          (n + TILE_N * CLUSTER_N - 1) / (TILE_N * CLUSTER_N),
          slabs,
          slabs,
          1,
          BATCHED != 0 ? batches : 1,
          static_cast<int>(gridDim.x) / CLUSTER};
}

// The producer: one thread. Fills stage after stage, for every tile of the cluster.
__device__ __forceinline__ void produce(const Memory& memory, const Place& place, Route route, const TensorMap& map_a,
                                        const TensorMap& map_b) {
  Ring<STAGES> ring;
  while (route.more()) {
    const Work work = route.next();
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M;
    const int column = (work.tile.n * CLUSTER_N + place.n) * TILE_N;
#pragma unroll 1
    for (int slab = 0; slab < work.slabs; ++slab) {
      wait_barrier(memory.empty(ring.stage), ring.parity ^ 1);
      const unsigned full = memory.full(ring.stage);
      arrive_expecting(full, STAGE_BYTES);  // what all blocks of the cluster copy here
      SlabA::fill(memory.a(ring.stage), map_a, full, row, slab, work.batch, place.n, place.sharers_of_a());
      SlabB::fill(memory.b(ring.stage), map_b, full, column, slab, work.batch, place.m, place.sharers_of_b());
      ring.advance();
    }
  }
}

// What a slab's sums are multiplied by before they join the others: here nothing.
struct NoFactors {
  static constexpr bool ANY = false;
  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ float of(int, int) const { return 1.0f; }
};

// A consumer warpgroup.
struct Consumer {
  Memory memory;
  int index;       // among consumers
  int warp, lane;  // of the warpgroup, of the warp
  Ring<STAGES> ring;
  unsigned release_to;  // the first `empty` that this lane arrives at; lanes from FILLERS on arrive nowhere
  unsigned strip = 0;   // the one to fill next
  float sum[PARTS_M][TILE_N / 2];

  __device__ __forceinline__ Consumer(const Memory& shared, const Place& place, int consumer) : memory(shared), index(consumer) {
    warp = static_cast<int>(threadIdx.x) / 32 % 4;
    lane = static_cast<int>(threadIdx.x) % 32;
    release_to = memory.empty(0);
    if constexpr (CLUSTER > 1) release_to = address_in(release_to, place.filler(lane < Place::FILLERS ? lane : 0));
  }

  __device__ __forceinline__ void release(int stage) const {
    if constexpr (CLUSTER > 1) {
      if (lane < Place::FILLERS) arrive_remote(release_to + stage * 16);
    } else {
      if (lane == 0) arrive(release_to + stage * 16);
    }
  }

  // Issues the products of the stage that is next, once it has landed; the first of them looks at `into` only if told to `keep`.
  __device__ __forceinline__ void issue(float (&into)[PARTS_M][TILE_N / 2], bool keep) {
    wait_barrier(memory.full(ring.stage), ring.parity);
    const unsigned long long a = SlabA::descriptor(memory.a(ring.stage) + index * PARTS_M * PART_BYTES);
    const unsigned long long b = SlabB::descriptor(memory.b(ring.stage));
    multiply_fence();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) {
        Wgmma<TILE_N>::template multiply<T_A, 0, 0>(into[part], a + (step * SlabA::STEP_BYTES + part * PART_BYTES) / 16,
                                                    b + step * SlabB::STEP_BYTES / 16, keep || step > 0);
      }
    }
    multiply_commit();
  }

  // All of K in the tensor core. One group of products is always under way: a stage is released when the next one's have been
  // issued and its own are through.
  __device__ __forceinline__ void multiply(int slabs) {
    int previous = 0;
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      issue(sum, slab > 0);
      multiply_wait<1>();
      if (slab > 0) release(previous);
      previous = ring.stage;
      ring.advance();
    }
    multiply_wait<0>();
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) settle(sum[part]);
    release(previous);
  }

  // Slab by slab: the tensor core's sums start anew with each and are added up here. While this warpgroup adds, the others
  // multiply.
  template <class Factors>
  __device__ __forceinline__ void multiply_promoted(int slabs, Factors next) {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) sum[part][i] = 0.0f;
    }
    next.fetch(0);
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      float own[PARTS_M][TILE_N / 2];
      issue(own, false);
      const Factors now = next;
      if (slab + 1 < slabs) next.fetch(slab + 1);
      multiply_wait<0>();
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) settle(own[part]);
      release(ring.stage);
      ring.advance();
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
        for (int i = 0; i < TILE_N / 2; ++i) {
          sum[part][i] = Factors::ANY ? fmaf(now.of(part, i / 2 % 2), own[part][i], sum[part][i]) : sum[part][i] + own[part][i];
        }
      }
    }
  }

  __device__ __forceinline__ void scale(float factor) {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) sum[part][i] *= factor;
    }
  }

  // Stores the sums as the tensor core left them: two neighbours of a row a thread.
  __device__ __forceinline__ void store_direct(const Epilogue& epilogue, int row, int column) const {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int j = 0; j < TILE_N / 8; ++j) {
        const float* s = sum[part] + 4 * j;
        const int at = row + part * 64 + warp * 16 + lane / 4;
        epilogue.store(at, column + j * 8 + lane % 4 * 2, {s[0], s[1]});
        epilogue.store(at + 8, column + j * 8 + lane % 4 * 2, {s[2], s[3]});
      }
    }
  }

  // Passes 16 rows by 128 bytes at a time through a strip of the warp's own, from which the copy engine takes them.
  __device__ __forceinline__ void store_tiles(const Epilogue& epilogue, const TensorMap& map, int batch, int row, int column) {
#pragma unroll
    for (int piece = 0; piece < PARTS_M * (TILE_N / STRIP_COLUMNS); ++piece) {
      const int part = piece / (TILE_N / STRIP_COLUMNS);
      const int first = piece % (TILE_N / STRIP_COLUMNS) * STRIP_COLUMNS;
      const int top = row + part * 64 + warp * 16;
      const unsigned to = memory.strips(index * 4 + warp) + strip * STRIP_BYTES;
      strip = strip + 1 == STRIPS ? 0 : strip + 1;
      wait_stores_read<STRIPS - 1>();  // the copy that used this strip before has read it
      __syncwarp();
      fill_strip<T_D>(epilogue, to, sum[part] + first / 2, top, column + first, lane);
      fence_for_copies();
      __syncwarp();
      if (lane == 0) {
        store_tile(map, to, (column + first) * (static_cast<int>(sizeof(T_D)) / 2), top, batch);
        commit_stores();
      }
    }
  }

  __device__ __forceinline__ void store(const Epilogue& epilogue, const TensorMap& map, int batch, int row, int column) {
    if constexpr (STRIPS != 0) {
      store_tiles(epilogue, map, batch, row, column);
    } else {
      store_direct(epilogue, row, column);
    }
  }
};

// Before anybody waits for them or copies to them.
__device__ __forceinline__ void prepare_barriers(const Memory& memory) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      init_barrier(memory.full(stage), 1);
      init_barrier(memory.empty(stage), CONSUMERS * 4 * Place::FILLERS);
    }
    publish_barriers();
  }
  if constexpr (CLUSTER > 1) {
    cluster_wait();
  } else {
    __syncthreads();
  }
}

// All of a block: `one_tile(consumer, work, row, column)` is what a consumer does with its part of one tile.
template <class OneTile>
__device__ __forceinline__ void run_block(unsigned char* shared, const WorkList& list, const TensorMap& map_a,
                                          const TensorMap& map_b, OneTile one_tile) {
  const Memory memory{shared_address(shared)};
  const Place place;
  Route route(list, static_cast<int>(blockIdx.x) / CLUSTER);
  if (threadIdx.x == 0) {
    prefetch_map(map_a);
    prefetch_map(map_b);
  }
  prepare_barriers(memory);
  // The same for all lanes, and known to be: descriptors then live in uniform registers.
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / GROUP, 0);
  if (warpgroup == CONSUMERS) {
    if constexpr (REALLOCATE) take_registers<PRODUCER_REGISTERS, false>();
    if (threadIdx.x % GROUP == 0) produce(memory, place, route, map_a, map_b);
    __syncwarp();
  } else {
    if constexpr (REALLOCATE) take_registers<CONSUMER_REGISTERS, true>();
    Consumer consumer(memory, place, warpgroup);
#pragma unroll 1
    while (route.more()) {
      const Work work = route.next();
      one_tile(consumer, work, (work.tile.m * CLUSTER_M + place.m) * BLOCK_M + warpgroup * TILE_M,
               (work.tile.n * CLUSTER_N + place.n) * TILE_N);
    }
    if constexpr (STRIPS != 0) wait_stores_read<0>();  // the strips must outlive the copies that read them
  }
  // Nobody leaves while a neighbour may still copy into its stages or arrive at its barriers.
  if constexpr (CLUSTER > 1) cluster_wait();
}
