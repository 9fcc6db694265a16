/* cupilot tunable 1
{
  "name": "gemm_wgmma",
  "family": "gemm",
  "summary": "GEMM for sm_90a: tensor maps feed a ring of stages, warpgroups multiply by wgmma; bf16, fp16, tf32 and fp8",
  "provides": ["wgmma_core", "tensor_map_copy", "warp_specialisation", "persistent", "shared_swizzle"],
  "requires": ["wgmma_core"],
  "when": ["elem.A == elem.B", "(class.bf16 || class.fp16) && elem.A == 2 || TRANS_A == 0 && TRANS_B == 1 && (class.tf32 && elem.A == 4 || class.fp8 && elem.A == 1)"],
  "parameters": {
    "TILE_M": {"name": "tile_m", "technique": "warpgroup_tile", "domain": [64, 128], "plain": 128},
    "TILE_N": {"name": "tile_n", "technique": "warpgroup_tile", "domain": [16, 32, 48, 64, 80, 96, 112, 128, 144, 152, 160, 168, 176, 192, 208, 224, 240, 256], "plain": 128},
    "CONSUMERS": {"name": "consumers", "technique": "warp_specialisation", "domain": [1, 2, 3], "plain": 2},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4, 5, 6, 7, 8, 10], "plain": 4},
    "PING_PONG": {"name": "ping_pong", "technique": "ping_pong", "domain": [0, 1], "plain": 0},
    "CLUSTER_M": {"name": "cluster_m", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "CLUSTER_N": {"name": "cluster_n", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "GROUP_M": {"name": "group_m", "technique": "raster", "domain": [1, 2, 4, 8, 16, 32], "plain": 1},
    "CURVE": {"name": "curve", "technique": "raster", "domain": [0, 1], "plain": 0},
    "SPLIT": {"name": "split", "technique": "split_k", "domain": [1, 2, 3, 4, 6, 8, 16], "plain": 1},
    "STREAM": {"name": "stream_waves", "technique": "stream_k", "domain": [0, 1, 2], "plain": 0},
    "STRIPS": {"name": "strips", "technique": "tensor_map_store", "domain": [0, 1, 2], "plain": 0},
    "DEFERRED": {"name": "deferred_store", "technique": "deferred_store", "domain": [0, 1], "plain": 0},
    "ROTATE": {"name": "rotated_k", "technique": "rotated_k", "domain": [0, 1], "plain": 0},
    "STREAM_STORE": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "restrict": [
    "dev.cc == 90",
    "PING_PONG == 0 || CONSUMERS == 2 && SPLIT == 1 && STREAM == 0 && DEFERRED == 0",
    "SPLIT == 1 || STREAM == 0",
    "CURVE == 0 || GROUP_M > 1",
    "CONSUMERS < 3 || TILE_N <= 200",
    "CLUSTER_M * CLUSTER_N <= 2",
    "TRANS_B == 0 || TILE_N % (8 * CLUSTER_M) == 0",
    "TILE_M * (PING_PONG ? 1 : CONSUMERS) / CLUSTER_N <= 256",
    "STRIPS == 0 || elem.D == 2 || elem.D == 4 && TILE_N % 32 == 0",
    "STRIPS > 0 || STREAM_STORE == 0 && DEFERRED == 0",
    "DEFERRED == 0 || elem.D == 2",
    "TILE_M / 64 * TILE_N / 2 * (2 + DEFERRED) / 2 + 36 + 16 * (HAS_C + HAS_BIAS + (ACT > 1)) <= (CONSUMERS == 1 ? 255 : CONSUMERS == 2 ? 232 : 160)"
  ],
  "plan": {
    "require": ["(TRANS_A ? m : k) * elem.A % 16 == 0", "(TRANS_B ? k : n) * elem.B % 16 == 0", "STRIPS == 0 || n * elem.D % 16 == 0"],
    "let": {
      "block_k": "128 / elem.A",
      "block_m": "TILE_M * (PING_PONG ? 1 : CONSUMERS)",
      "cluster": "CLUSTER_M * CLUSTER_N",
      "tiles": "cdiv(m, block_m * CLUSTER_M) * cdiv(n, TILE_N * CLUSTER_N)",
      "slabs": "cdiv(k, block_k)",
      "chunk": "cdiv(slabs, min(SPLIT, slabs))",
      "split": "cdiv(slabs, chunk)",
      "items": "tiles * batch * split",
      "most": "min(STREAM ? tiles * batch * slabs : items, dev.sms / cluster)",
      "even": "cdiv(items, cdiv(items, most))",
      "clusters": "STREAM == 0 && even * 8 >= most * 7 ? even : most",
      "whole": "(tiles * batch / clusters - (STREAM > 1)) * clusters",
      "streamed": "STREAM && tiles * batch % clusters ? tiles * batch - max(whole, 0) : 0",
      "slots": "streamed > 0 ? streamed + clusters : split > 1 ? batch * tiles * split : 0",
      "stage": "(block_m + (TRANS_B ? TILE_N : up(TILE_N, 64))) * 128",
      "units": "TILE_N * elem.D / 16",
      "odd": "units % 2 ? units : units / 2 % 2 ? units / 2 : units / 4 % 2 ? units / 4 : 8",
      "strip": "odd > 19 && odd % 3 == 0 ? odd / 3 : odd",
      "feed": "block_m + (TRANS_B || TILE_N % 64 == 0 ? TILE_N : 2 * up(TILE_N, 64))",
      "slab_cycles": "max(block_m * TILE_N / 32, 2 * feed)",
      "store_cycles": "PING_PONG ? 0 : DEFERRED ? 600 : TILE_M * TILE_N / 8",
      "streamed_cycles": "streamed > 0 ? cdiv(tiles * batch * slabs, clusters) * slab_cycles + cdiv(tiles * batch, clusters) * store_cycles : 0",
      "dealt_cycles": "cdiv(tiles * batch * split, clusters) * (chunk * slab_cycles + store_cycles + (split > 1 ? TILE_M * TILE_N / 4 : 0))",
      "join_cycles": "split > 1 || streamed > 0 ? 6000 : 0",
      "traffic": "batch * (m * k * elem.A + n * k * elem.B + m * n * elem.D)",
      "cycles": "max(streamed > 0 ? streamed_cycles : dealt_cycles, 4 * traffic / 10240) + join_cycles",
      "cost": "dev.sms * 10240 * max(cycles, 40000)"
    },
    "buffers": [
      {"name": "parts", "bytes": "slots > 0 ? slots * cluster * block_m * TILE_N * 4 : 16"},
      {"name": "arrived", "bytes": "slots > 0 ? slots * cluster * CONSUMERS * 4 : 16", "content": "restored"}
    ],
    "maps": [
      {"name": "map_a", "of": "A", "type": "i16", "dims": ["(TRANS_A ? m : k) * elem.A / 2", "TRANS_A ? k : m", "batch"],
       "pitch": ["(TRANS_A ? m : k) * elem.A", "m * k * elem.A"], "box": [64, "(TRANS_A ? 64 : block_m) / CLUSTER_N", 1]},
      {"name": "map_b", "of": "B", "type": "i16", "dims": ["(TRANS_B ? k : n) * elem.B / 2", "TRANS_B ? n : k", "batch"],
       "pitch": ["(TRANS_B ? k : n) * elem.B", "n * k * elem.B"], "box": [64, "(TRANS_B ? TILE_N : 64) / CLUSTER_M", 1]},
      {"name": "map_d", "of": "D", "type": "i16", "dims": ["STRIPS ? n * elem.D / 2 : 8", "STRIPS ? m : 1", "STRIPS ? batch : 1"],
       "pitch": ["STRIPS ? n * elem.D : 16", "STRIPS ? m * n * elem.D : 16"], "box": [64, 16, 1]},
      {"name": "map_d_narrow", "of": "D", "type": "i16", "dims": ["STRIPS ? n * elem.D / 2 : 8", "STRIPS ? m : 1", "STRIPS ? batch : 1"],
       "pitch": ["STRIPS ? n * elem.D : 16", "STRIPS ? m * n * elem.D : 16"], "box": ["8 * strip", 16, 1], "swizzle": 0}
    ],
    "launches": [
      {"name": "main", "entry": "gemm_wgmma", "grid": ["clusters * cluster"],
       "block": ["(CONSUMERS + 1) * 128"], "cluster": ["cluster"],
       "shared": "STAGES * (stage + 16) + STRIPS * CONSUMERS * 1024 * strip + 16",
       "args": ["map_a", "map_b", "map_d", "map_d_narrow", "C?", "bias?", "D", "parts", "arrived", "alpha", "beta", {"i32": "m"}, {"i32": "n"}, {"i32": "k"},
                {"i32": "batch"}, {"i32": "chunk"}, {"i32": "streamed"}]}
    ]
  }
}
*/
// Blocks stay on their SM and take one tile of D after another. There are as many as SMs, or a few less where that costs no turn:
// then none idles while others take the last tile. A producer warp feeds slabs of A and B into a ring of stages in shared memory;
// consumer warpgroups multiply them on tensor cores and store the tiles.
//
// The life of a stage:  filled    by copies of the producer, which waits for `empty` and tells `full` the bytes to expect
//                       drained   by wgmma, once `full` says that the bytes have landed
//                       released  by an arrival of each consumer warp at `empty`, once its products were waited for
//
// Cooperative consumers share a slab, each with its own rows of one tile. In ping-pong they own a tile each and take turns at
// the tensor cores: one multiplies while the other stores.
//
// Blocks of a cluster lie side by side along M or N and need the same columns of B, or rows of A. Each copies its share of
// these into the shared memory of all, so a stage is empty only when every block that it is copied into has released it.
//
// tf32 operands are cut off to 10 bits after the point by the unit, where gemm_mma.cu rounds them: here no register sees them.
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/slab.cuh"
#include "cupilot/cluster.cuh"
#include "cupilot/raster.cuh"
#include "cupilot/schedule.cuh"
#include "cupilot/split_k.cuh"

constexpr int STORE_VECTOR = 2;  // what neighbours a thread holds
#include "cupilot/epilogue.cuh"
#include "cupilot/tile_store.cuh"

constexpr int LINE = 128;                                     // bytes of a slab's line
constexpr int BLOCK_K = LINE / static_cast<int>(sizeof(T_A));
constexpr int STEPS = LINE / 32;  // products along a slab, 32 bytes of K each
constexpr int BLOCK_M = TILE_M * (PING_PONG != 0 ? 1 : CONSUMERS);
constexpr int BLOCK_N = TILE_N;
constexpr int PARTS_M = TILE_M / 64;  // products side by side in a warpgroup
constexpr int PART_BYTES = 64 * LINE;
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int THREADS = GROUP * (CONSUMERS + 1);
constexpr int DRAINERS = PING_PONG != 0 ? 1 : CONSUMERS;  // warpgroups that drain one stage
// With one block an SM a thread starts with 65536 / THREADS registers; the producer needs few and gives its own away. A
// lone consumer starts with all that a thread can have.
constexpr bool REALLOCATE = CONSUMERS > 1;
constexpr int PRODUCER_REGISTERS = CONSUMERS == 2 ? 40 : 32;
constexpr int CONSUMER_REGISTERS = CONSUMERS == 2 ? 232 : 160;

using SlabA = Slab<T_A, BLOCK_M, TRANS_A == 0, CLUSTER_N>;
using SlabB = Slab<T_B, BLOCK_N, TRANS_B != 0, CLUSTER_M>;
constexpr int STAGE_BYTES = SlabA::BYTES + SlabB::BYTES;

#include "cupilot/result_strips.cuh"

// Shared memory: the stages, each a slab of A and one of B; STRIPS a warp in which results become whole rows, one being
// filled while others are copied out; barriers.
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
constexpr int LAST_AT = BARRIERS_AT + STAGES * 16;  // a byte a consumer, for split K

using Route = Walk<CURVE != 0, GROUP_M>;

// The producer: one thread. Fills stage after stage, for every item of the cluster's work.
__device__ __forceinline__ void produce(const Memory& memory, const Place& place, Route route, const TensorMap& map_a,
                                        const TensorMap& map_b) {
  Ring<STAGES> ring;
  while (route.more()) {
    const Work work = route.next();
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M;
    const int column = (work.tile.n * CLUSTER_N + place.n) * BLOCK_N;
    int slab = work.first_slab + (ROTATE != 0 ? route.list.turn(work) : 0);
#pragma unroll 1
    for (int left = work.slabs; left > 0; --left) {
      wait_barrier(memory.empty(ring.stage), ring.parity ^ 1);
      const unsigned full = memory.full(ring.stage);
      arrive_expecting(full, STAGE_BYTES);  // what all blocks of the cluster copy here
      SlabA::fill(memory.a(ring.stage), map_a, full, row, slab, work.batch, place.n, place.sharers_of_a());
      SlabB::fill(memory.b(ring.stage), map_b, full, column, slab, work.batch, place.m, place.sharers_of_b());
      ring.advance();
      if (++slab == work.first_slab + work.slabs) slab = work.first_slab;
    }
  }
}

// A consumer warpgroup.
struct Consumer {
  Memory memory;
  int index;                  // among consumers
  int warp, lane;             // of the warpgroup, of the warp
  Ring<STAGES> ring;
  unsigned release_to;        // the first `empty` that this lane arrives at; lanes from FILLERS on arrive nowhere
  float sum[PARTS_M][BLOCK_N / 2];
  ResultStrips out;

  __device__ __forceinline__ Consumer(const Memory& shared, const Place& place, int consumer) : memory(shared), index(consumer) {
    warp = static_cast<int>(threadIdx.x) / 32 % 4;
    lane = static_cast<int>(threadIdx.x) % 32;
    out.strips = memory.strips(index * 4 + warp);
    out.lane = lane;
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

  // Sums the products of `slabs` slabs. One group of products is always under way: a stage is released when the next one's
  // have been issued and its own are through. `beside` is called once a slab, while the tensor cores work; `issued` when they
  // have all there is to do.
  template <class Beside, class Issued>
  __device__ __forceinline__ void multiply(int slabs, Beside beside, Issued issued) {
    int previous = 0;
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      wait_barrier(memory.full(ring.stage), ring.parity);
      const int own_rows = PING_PONG != 0 ? 0 : index * PARTS_M * PART_BYTES;
      const unsigned long long a = SlabA::descriptor(memory.a(ring.stage) + own_rows);
      const unsigned long long b = SlabB::descriptor(memory.b(ring.stage));
      multiply_fence();
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
#pragma unroll
        for (int part = 0; part < PARTS_M; ++part) {
          Wgmma<BLOCK_N>::template multiply<T_A, SlabA::TURNED, SlabB::TURNED>(
              sum[part], a + (step * SlabA::STEP_BYTES + part * PART_BYTES) / 16, b + step * SlabB::STEP_BYTES / 16,
              slab + step);  // the first product of a tile does not look at the sums
        }
      }
      multiply_commit();
      beside();
      multiply_wait<1>();
      if (slab > 0) release(previous);
      previous = ring.stage;
      ring.advance();
    }
    issued();
    multiply_wait<0>();
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) settle(sum[part]);
    release(previous);
  }

  // Adds the parts of a tile that several blocks summed; false when another block will have the whole sum.
  __device__ __forceinline__ bool reduce(const Work& work, int slots, int rank, float* parts, unsigned* arrived, bool* last) {
    constexpr int EACH = TILE_M * TILE_N / GROUP;
    const int who = rank * CONSUMERS + index;
    float(&flat)[EACH] = reinterpret_cast<float(&)[EACH]>(sum);
    const long long at = static_cast<long long>(who) * slots + work.slot;
    return reduce_split<GROUP>(flat, parts + at * TILE_M * TILE_N, arrived + work.number * CLUSTER * CONSUMERS + who, work.part,
                               work.parts, warp * 32 + lane, last + index, [&] { named_wait(1 + index, GROUP); });
  }

  // Stores the sums as the tensor core left them: two neighbours of a row a thread.
  __device__ __forceinline__ void store_direct(const Epilogue& epilogue, int row, int column) const {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int j = 0; j < BLOCK_N / 8; ++j) {
        const float* s = sum[part] + 4 * j;
        const int at = row + part * 64 + warp * 16 + lane / 4;
        epilogue.store(at, column + j * 8 + lane % 4 * 2, {s[0], s[1]});
        epilogue.store(at + 8, column + j * 8 + lane % 4 * 2, {s[2], s[3]});
      }
    }
  }

};

// All that a consumer does: every tile of the cluster's work, or in ping-pong every other one.
__device__ __forceinline__ void consume(Consumer& consumer, const Place& place, Route route, const TensorMap& map_d,
                                        const Epilogue& first_matrix, float* parts, unsigned* arrived, bool* last) {
  int turn = 0;
#pragma unroll 1
  for (; route.more(); ++turn) {
    const Work work = route.next();
    if (PING_PONG != 0 && turn % 2 != consumer.index) {
      consumer.ring.skip(work.slabs);
      continue;
    }
    if (PING_PONG != 0 && turn > 0) Turns<2 * GROUP>::wait(consumer.index);
    consumer.multiply(
        work.slabs,
        [&] {
          if (DEFERRED != 0 && !consumer.out.empty()) consumer.out.store_piece(map_d);
        },
        [&] {
          if (PING_PONG != 0 && route.more()) Turns<2 * GROUP>::pass_on(consumer.index);
        });
    if constexpr (DEFERRED != 0) consumer.out.store_rest(map_d);  // where a tile has fewer slabs than pieces
    if constexpr (SPLIT > 1 || STREAM > 0) {
      const int rank = Place::rank(place.m, place.n);
      if (work.parts > 1 && !consumer.reduce(work, route.list.slots(), rank, parts, arrived, last)) continue;
    }
    const Epilogue epilogue = BATCHED != 0 ? first_matrix.of_batch(work.batch) : first_matrix;
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M + (PING_PONG != 0 ? 0 : consumer.index * TILE_M);
    const int column = (work.tile.n * CLUSTER_N + place.n) * BLOCK_N;
    if constexpr (DEFERRED != 0) {
      consumer.out.pack<T_D>(epilogue, consumer.sum, work.batch, row + consumer.warp * 16, column);
    } else if constexpr (STRIPS != 0) {
      consumer.out.store(epilogue, map_d, consumer.sum, work.batch, row + consumer.warp * 16, column);
    } else {
      consumer.store_direct(epilogue, row, column);
    }
  }
  if constexpr (DEFERRED != 0) consumer.out.store_rest(map_d);
  if constexpr (STRIPS != 0) wait_stores_read<0>();  // the strips must outlive the copies that read them
}

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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_wgmma(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
               const __grid_constant__ TensorMap map_d, const __grid_constant__ TensorMap map_d_narrow, const T_C* C,
               const T_bias* bias, T_D* D, float* parts, unsigned* arrived, float alpha, float beta, int m, int n, int k,
               int batches, int chunk, int streamed) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Memory memory{shared_address(shared)};
  const Place place;
  const int slabs = (k + BLOCK_K - 1) / BLOCK_K;
  const WorkList list{(m + BLOCK_M * CLUSTER_M - 1) / (BLOCK_M * CLUSTER_M),
                      (n + BLOCK_N * CLUSTER_N - 1) / (BLOCK_N * CLUSTER_N),
                      slabs,
                      SPLIT > 1 ? chunk : slabs,
                      SPLIT > 1 ? (slabs + chunk - 1) / chunk : 1,
                      BATCHED != 0 ? batches : 1,
                      static_cast<int>(gridDim.x) / CLUSTER,
                      STREAM > 0 ? streamed : 0};
  const Route route(list, static_cast<int>(blockIdx.x) / CLUSTER);

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
    const Epilogue first_matrix{D, C, bias, alpha, beta, m, n, rows_aligned(D, n, STORE_VECTOR)};
    consume(consumer, place, route, STRIP_UNITS == 8 ? map_d : map_d_narrow, first_matrix, parts, arrived,
            reinterpret_cast<bool*>(shared + LAST_AT));
  }
  // Nobody leaves while a neighbour may still copy into its stages or arrive at its barriers.
  if constexpr (CLUSTER > 1) cluster_wait();
}
