/* cupilot tunable 1
{
  "name": "gemm_wgmma_split",
  "family": "gemm",
  "summary": "fp32 GEMM for sm_90a by tensor cores: operands are split into planes, whose products wgmma sums",
  "provides": ["wgmma_core", "operand_split", "tensor_map_copy", "warp_specialisation", "persistent", "shared_swizzle"],
  "requires": ["wgmma_core", "operand_split"],
  "when": ["elem.A == 4", "elem.B == 4", "class.fp32_emulated || class.bf16x3"],
  "parameters": {
    "SCHEME": {"name": "scheme", "technique": "operand_split", "domain": [1, 2, 3], "plain": 1},
    "FUSED": {"name": "fused", "technique": "operand_split", "domain": [0, 1], "plain": 0},
    "FLUSH": {"name": "flush", "technique": "accumulator_flush", "domain": [1, 2, 4, 8], "plain": 1},
    "TILE_M": {"name": "tile_m", "technique": "warpgroup_tile", "domain": [64, 128], "plain": 64},
    "TILE_N": {"name": "tile_n", "technique": "warpgroup_tile", "domain": [16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192], "plain": 128},
    "CONSUMERS": {"name": "consumers", "technique": "warp_specialisation", "domain": [1, 2, 3], "plain": 2},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4, 5, 6, 7, 8], "plain": 2},
    "CLUSTER_M": {"name": "cluster_m", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "CLUSTER_N": {"name": "cluster_n", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "GROUP_M": {"name": "group_m", "technique": "raster", "domain": [1, 2, 4, 8, 16, 32], "plain": 1},
    "SPLIT": {"name": "split", "technique": "split_k", "domain": [1, 2, 3, 4, 6, 8, 16], "plain": 1},
    "STRIPS": {"name": "strips", "technique": "tensor_map_store", "domain": [0, 1, 2], "plain": 0}
  },
  "restrict": [
    "dev.cc == 90",
    "class.bf16x3 ? SCHEME == 3 : SCHEME < 3",
    "FUSED == 0 || SCHEME == 1 && FLUSH == 1",
    "CLUSTER_M * CLUSTER_N <= 2",
    "TILE_N % (8 * CLUSTER_M) == 0",
    "STRIPS == 0 || elem.D > 1 && TILE_N * elem.D % 128 == 0",
    "TILE_M / 64 * (TILE_N + FUSED * 48) + 32 + 16 * (HAS_C + HAS_BIAS + (ACT > 1)) <= (CONSUMERS == 1 ? 255 : CONSUMERS == 2 ? 232 : 160)",
    "STAGES * ((FUSED ? 1 : SCHEME == 2 ? 3 : 2) * TILE_M * CONSUMERS + (SCHEME == 2 ? 3 : 2) * TILE_N) * 128 <= dev.shared - 1024"
  ],
  "plan": {
    "require": ["FUSED == 0 || (TRANS_A ? m : k) % 4 == 0", "STRIPS == 0 || n * elem.D % 16 == 0"],
    "let": {
      "planes": "SCHEME == 2 ? 3 : 2",
      "each": "SCHEME == 1 ? 4 : 2",
      "pitch": "up(k, 8)",
      "block_k": "128 / each",
      "block_m": "TILE_M * CONSUMERS",
      "cluster": "CLUSTER_M * CLUSTER_N",
      "tiles": "cdiv(m, block_m * CLUSTER_M) * cdiv(n, TILE_N * CLUSTER_N)",
      "slabs": "cdiv(k, block_k)",
      "chunk": "cdiv(slabs, min(SPLIT, slabs))",
      "split": "cdiv(slabs, chunk)",
      "stage": "((FUSED ? 1 : planes) * block_m + planes * TILE_N) * 128",
      "squares_a": "FUSED ? 0 : cdiv(m, 64) * cdiv(k, 64)",
      "squares_b": "cdiv(n, 64) * cdiv(k, 64)"
    },
    "buffers": [
      {"name": "planes_a", "bytes": "FUSED ? 16 : batch * planes * m * pitch * each"},
      {"name": "planes_b", "bytes": "batch * planes * n * pitch * each"},
      {"name": "parts", "bytes": "split > 1 ? batch * tiles * cluster * split * block_m * TILE_N * 4 : 16"},
      {"name": "arrived", "bytes": "split > 1 ? batch * tiles * cluster * CONSUMERS * 4 : 16", "content": "restored"}
    ],
    "maps": [
      {"name": "map_a", "of": "planes_a", "type": "i16", "dims": ["FUSED ? 8 : k * each / 2", "FUSED ? 1 : m", "FUSED ? 1 : batch * planes"],
       "pitch": ["FUSED ? 16 : pitch * each", "FUSED ? 16 : m * pitch * each"], "box": [64, "block_m / CLUSTER_N", 1]},
      {"name": "map_raw", "of": "A", "type": "i16", "dims": ["FUSED ? (TRANS_A ? m : k) * 2 : 8", "FUSED ? (TRANS_A ? k : m) : 1", "FUSED ? batch : 1"],
       "pitch": ["FUSED ? (TRANS_A ? m : k) * 4 : 16", "FUSED ? m * k * 4 : 16"], "box": [64, "TRANS_A ? 32 / CLUSTER_N : block_m / CLUSTER_N", 1]},
      {"name": "map_b", "of": "planes_b", "type": "i16", "dims": ["k * each / 2", "n", "batch * planes"],
       "pitch": ["pitch * each", "n * pitch * each"], "box": [64, "TILE_N / CLUSTER_M", 1]},
      {"name": "map_d", "of": "D", "type": "i16", "dims": ["STRIPS ? n * elem.D / 2 : 8", "STRIPS ? m : 1", "STRIPS ? batch : 1"],
       "pitch": ["STRIPS ? n * elem.D : 16", "STRIPS ? m * n * elem.D : 16"], "box": [64, 16, 1]}
    ],
    "launches": [
      {"name": "split", "entry": "split_operands", "grid": ["(squares_a + squares_b) * batch"], "block": [256],
       "args": ["A", "B", "planes_a", "planes_b", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "pitch"}, {"i32": "batch"}]},
      {"name": "main", "entry": "gemm_wgmma_split", "grid": ["min(tiles * split * batch, dev.sms / cluster) * cluster"],
       "block": ["(CONSUMERS + 1) * 128"], "cluster": ["cluster"],
       "shared": "STAGES * (stage + 16) + STRIPS * CONSUMERS * 8192 + 16",
       "args": ["map_a", "map_raw", "map_b", "map_d", "C?", "bias?", "D", "parts", "arrived", "alpha", "beta", {"i32": "m"}, {"i32": "n"}, {"i32": "k"},
                {"i32": "batch"}, {"i32": "chunk"}]}
    ]
  }
}
*/
// Blocks stay on their SM and take one tile of D after another. A producer warp feeds slabs of A and B into a ring of stages
// in shared memory; consumer warpgroups multiply them on tensor cores and store the tiles.
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
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/raster.cuh"
#include "cupilot/schedule.cuh"
#include "cupilot/split_k.cuh"
#include "cupilot/split.cuh"

constexpr int STORE_VECTOR = 2;  // what neighbours a thread holds
constexpr int STREAM_STORE = 0;
#include "cupilot/epilogue.cuh"
#include "cupilot/tile_store.cuh"

constexpr int ELEMENT = static_cast<int>(sizeof(Plane));  // bytes
constexpr int LINE = 128;                               // bytes of a slab's line: one swizzle span
constexpr int BLOCK_K = LINE / ELEMENT;
constexpr int STEPS = LINE / 32;  // products along a slab, 32 bytes of K each
constexpr int BLOCK_M = TILE_M * CONSUMERS;
constexpr int BLOCK_N = TILE_N;
constexpr int PARTS_M = TILE_M / 64;  // products side by side in a warpgroup
constexpr int PART_BYTES = 64 * LINE;
constexpr int CLUSTER = CLUSTER_M * CLUSTER_N;
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int THREADS = GROUP * (CONSUMERS + 1);
constexpr int DRAINERS = CONSUMERS;
// With one block an SM a thread starts with 65536 / THREADS registers; the producer needs few and gives its own away. A
// lone consumer starts with all that a thread can have.
constexpr bool REALLOCATE = CONSUMERS > 1;
constexpr int PRODUCER_REGISTERS = CONSUMERS == 2 ? 40 : 32;
constexpr int CONSUMER_REGISTERS = CONSUMERS == 2 ? 232 : 160;

// One operand's slab: PLANES tiles of OUTER lines, which run along K.
template <int OUTER, int SHARERS>
struct Operand {
  static constexpr int PLANE_BYTES = OUTER * LINE;
  static constexpr int BYTES = PLANES * PLANE_BYTES;
  static constexpr int SHARE = OUTER / SHARERS;  // lines this block copies, of each plane

  // Copies this block's share of the slab at row or column `outer` and line `slab` of K, to all blocks of `sharers`.
  static __device__ __forceinline__ void fill(unsigned to, const TensorMap& map, unsigned full, int outer, int slab, int batch,
                                              int share, unsigned short sharers) {
    const int first = share * SHARE;
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
      const unsigned target = to + plane * PLANE_BYTES + first * LINE;
      if constexpr (SHARERS > 1) {  // maps count words of 2 bytes
        load_tile_multicast(target, map, full, slab * (LINE / 2), outer + first, batch * PLANES + plane, sharers);
      } else {
        load_tile(target, map, full, slab * (LINE / 2), outer + first, batch * PLANES + plane);
      }
    }
  }
};

// A's slab as memory holds it, in fp32: lines along K, one a row; or along M in blocks of 32, one a line of K.
template <int OUTER, int SHARERS>
struct RawOperand {
  static constexpr int BYTES = OUTER * LINE;
  static constexpr int BLOCKS = TRANS_A != 0 ? OUTER / 32 : 1;
  static constexpr int SHARE = (TRANS_A != 0 ? 32 : OUTER) / SHARERS;

  static __device__ __forceinline__ void fill(unsigned to, const TensorMap& map, unsigned full, int outer, int slab, int batch,
                                              int share, unsigned short sharers) {
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) {
      const unsigned target = to + (block * 32 + share * SHARE) * LINE;
      const int x = TRANS_A != 0 ? (outer + block * 32) * 2 : slab * 64;  // in words of 2 bytes
      const int y = TRANS_A != 0 ? slab * 32 + share * SHARE : outer + share * SHARE;
      if constexpr (SHARERS > 1) {
        load_tile_multicast(target, map, full, x, y, batch, sharers);
      } else {
        load_tile(target, map, full, x, y, batch);
      }
    }
  }

  // What a lane's fragments of the 64 rows from `top` on need.
  static __device__ __forceinline__ void load(float (&raw)[STEPS][4], unsigned slab, int top, int warp, int lane) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = top + warp * 16 + lane / 4 + i % 2 * 8, k = step * 8 + lane % 4 + i / 2 * 4;
        const unsigned from = TRANS_A != 0 ? row / 32 * (32 * LINE) + swizzled(k, row % 32 / 4) + row % 4 * 4
                                           : swizzled(row, k / 4) + k % 4 * 4;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(raw[step][i]) : "r"(slab + from) : "memory");
      }
    }
  }
};
using RawA = RawOperand<BLOCK_M, CLUSTER_N>;
using PlanesA = Operand<BLOCK_M, CLUSTER_N>;
template <bool RAW>
struct OperandOfA {
  using type = PlanesA;
};
template <>
struct OperandOfA<true> {
  using type = RawA;
};
using OperandA = OperandOfA<FUSED != 0>::type;
using OperandB = Operand<BLOCK_N, CLUSTER_M>;
constexpr int STAGE_BYTES = OperandA::BYTES + OperandB::BYTES;

// Shared memory: the stages, each a slab of A and one of B; STRIPS a warp in which results become whole rows, one being
// filled while others are copied out; barriers.
constexpr int STRIP_BYTES = 16 * LINE;
constexpr int STRIPS_AT = STAGES * STAGE_BYTES;
constexpr int BARRIERS_AT = STRIPS_AT + CONSUMERS * 4 * STRIPS * STRIP_BYTES;
struct Memory {
  unsigned base;
  __device__ __forceinline__ unsigned a(int stage) const { return base + stage * STAGE_BYTES; }
  __device__ __forceinline__ unsigned b(int stage) const { return a(stage) + OperandA::BYTES; }
  __device__ __forceinline__ unsigned strips(int consumer_warp) const {
    return base + STRIPS_AT + consumer_warp * STRIPS * STRIP_BYTES;
  }
  __device__ __forceinline__ unsigned full(int stage) const { return base + BARRIERS_AT + stage * 16; }
  __device__ __forceinline__ unsigned empty(int stage) const { return full(stage) + 8; }
};
constexpr int LAST_AT = BARRIERS_AT + STAGES * 16;  // a byte a consumer, for split K

// Where this block stands in its cluster. Blocks of one `m` share rows of A, those of one `n` columns of B.
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

// The producer: one thread. Fills stage after stage, for every item of the cluster's work.
__device__ __forceinline__ void produce(const Memory& memory, const Place& place, const WorkList& list, int first, int clusters,
                                        const TensorMap& map_a, const TensorMap& map_b) {
  Ring<STAGES> ring;
  for (int item = first; item < list.count(); item += clusters) {
    const Work work = list.at(item, GROUP_M);
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M;
    const int column = (work.tile.n * CLUSTER_N + place.n) * BLOCK_N;
#pragma unroll 1
    for (int slab = work.first_slab; slab < work.first_slab + work.slabs; ++slab) {
      wait_barrier(memory.empty(ring.stage), ring.parity ^ 1);
      const unsigned full = memory.full(ring.stage);
      arrive_expecting(full, STAGE_BYTES);  // what all blocks of the cluster copy here
      OperandA::fill(memory.a(ring.stage), map_a, full, row, slab, work.batch, place.n, place.sharers_of_a());
      OperandB::fill(memory.b(ring.stage), map_b, full, column, slab, work.batch, place.m, place.sharers_of_b());
      ring.advance();
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
  unsigned strip = 0;         // the one to fill next
  float sum[PARTS_M][BLOCK_N / 2];    // since the last flush
  float total[PARTS_M][BLOCK_N / 2];

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

  // The products of one slab, those of the smallest planes first: then the large ones cut off few bits of the small.
  __device__ __forceinline__ void multiply_slab(bool fresh) {
    const unsigned long long a = tile_descriptor(memory.a(ring.stage) + index * PARTS_M * PART_BYTES, 0);
    const unsigned long long b = tile_descriptor(memory.b(ring.stage), 0);
    multiply_fence();
#pragma unroll
    for (int rank = PLANES - 1; rank >= 0; --rank) {
#pragma unroll
      for (int plane = 0; plane <= rank; ++plane) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
#pragma unroll
          for (int part = 0; part < PARTS_M; ++part) {
            Wgmma<BLOCK_N>::template multiply<Plane, 0, 0>(
                sum[part], a + (plane * PlanesA::PLANE_BYTES + step * 32 + part * PART_BYTES) / 16,
                b + ((rank - plane) * OperandB::PLANE_BYTES + step * 32) / 16,
                !fresh || rank < PLANES - 1 || plane + step > 0);  // the first does not look at the sums
          }
        }
      }
    }
    multiply_commit();
  }

  __device__ __forceinline__ void multiply_slab_fused(const Fragments<STEPS> (&a)[PARTS_M]) {
    const unsigned long long b = tile_descriptor(memory.b(ring.stage), 0);
    multiply_fence();
#pragma unroll
    for (int rank = PLANES - 1; rank >= 0; --rank) {
#pragma unroll
      for (int plane = 0; plane <= rank; ++plane) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
#pragma unroll
          for (int part = 0; part < PARTS_M; ++part) {
            const unsigned long long at = b + ((rank - plane) * OperandB::PLANE_BYTES + step * 32) / 16;
            if (rank == PLANES - 1 && plane + step == 0) {
              Wgmma<BLOCK_N>::template multiply_tf32<false>(sum[part], a[part].plane[plane][step], at);
            } else {
              Wgmma<BLOCK_N>::template multiply_tf32<true>(sum[part], a[part].plane[plane][step], at);
            }
          }
        }
      }
    }
    multiply_commit();
  }

  static __device__ __forceinline__ void clear(float (&values)[PARTS_M][BLOCK_N / 2]) {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int i = 0; i < BLOCK_N / 2; ++i) values[part][i] = 0.0f;
    }
  }
  __device__ __forceinline__ void flush() {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
      settle(sum[part]);
#pragma unroll
      for (int i = 0; i < BLOCK_N / 2; ++i) total[part][i] += sum[part][i];
    }
  }

  // Sums the products of `slabs` slabs. Tensor cores cut off what does not fit a sum, always toward zero, so every FLUSH slabs
  // their sums are added to totals in ordinary registers, which round to nearest, and start anew.
  __device__ __forceinline__ void multiply(int slabs) {
    clear(total);
#pragma unroll 1
    for (int first = 0; first < slabs; first += FLUSH) {
      const int count = FLUSH == 1 ? 1 : min(FLUSH, slabs - first);
      int previous = 0;
#pragma unroll 1
      for (int slab = 0; slab < count; ++slab) {
        wait_barrier(memory.full(ring.stage), ring.parity);
        multiply_slab(slab == 0);
        if (slab > 0) {
          multiply_wait<1>();
          release(previous);
        }
        previous = ring.stage;
        ring.advance();
      }
      multiply_wait<0>();
      release(previous);
      flush();
    }
  }

  // The same with A split on the way from shared memory to registers. The next slab is read while this one is multiplied.
  __device__ __forceinline__ void multiply_fused(int slabs) {
    float raw[PARTS_M][STEPS][4];
    Fragments<STEPS> a[PARTS_M];
    const auto load = [&] {
      wait_barrier(memory.full(ring.stage), ring.parity);
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) {
        RawA::load(raw[part], memory.a(ring.stage), (index * PARTS_M + part) * 64, warp, lane);
      }
    };
    clear(total);
    load();
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) a[part].split(raw[part]);
      multiply_slab_fused(a);
      const int stage = ring.stage;
      ring.advance();
      if (slab + 1 < slabs) load();
      multiply_wait<0>();
      release(stage);
      flush();
    }
  }

  // Adds the parts of a tile that several blocks summed; false when another block will have the whole sum.
  __device__ __forceinline__ bool reduce(float* parts, unsigned* arrived, int tile, int part, int count, bool* last) {
    constexpr int EACH = TILE_M * TILE_N / GROUP;
    const int at = tile * CONSUMERS + index;
    float(&flat)[EACH] = reinterpret_cast<float(&)[EACH]>(total);
    return reduce_split<GROUP>(flat, parts + static_cast<long long>(at) * count * TILE_M * TILE_N, arrived + at, part, count,
                               warp * 32 + lane, last + index, [&] { named_wait(1 + index, GROUP); });
  }

  // Stores the sums as the tensor core left them: two neighbours of a row a thread.
  __device__ __forceinline__ void store_direct(const Epilogue& epilogue, int row, int column) const {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int j = 0; j < BLOCK_N / 8; ++j) {
        const float* s = total[part] + 4 * j;
        const int at = row + part * 64 + warp * 16 + lane / 4;
        epilogue.store(at, column + j * 8 + lane % 4 * 2, {s[0], s[1]});
        epilogue.store(at + 8, column + j * 8 + lane % 4 * 2, {s[2], s[3]});
      }
    }
  }

  // Passes 16 rows by 128 bytes at a time through a strip of the warp's own, from which the copy engine takes them.
  __device__ __forceinline__ void store_tiles(const Epilogue& epilogue, const TensorMap& map, int batch, int row, int column) {
    constexpr int COLUMNS = LINE / static_cast<int>(sizeof(T_D));  // of a strip
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int piece = 0; piece < BLOCK_N / COLUMNS; ++piece) {
        const unsigned to = memory.strips(index * 4 + warp) + strip * STRIP_BYTES;
        strip = strip + 1 == STRIPS ? 0 : strip + 1;
        wait_stores_read<STRIPS - 1>();  // the copy that used this strip before has read it
        __syncwarp();
        const int top = row + part * 64 + warp * 16;
        const int left = column + piece * COLUMNS;
        fill_strip<T_D>(epilogue, to, total[part] + piece * COLUMNS / 2, top, left, lane);
        fence_for_copies();
        __syncwarp();
        if (lane == 0) {
          store_tile(map, to, left * static_cast<int>(sizeof(T_D)) / 2, top, batch);
          commit_stores();
        }
      }
    }
  }
};

// All that a consumer does: every tile of the cluster's work, or in ping-pong every other one.
__device__ __forceinline__ void consume(Consumer& consumer, const Place& place, const WorkList& list, int first, int clusters,
                                        const TensorMap& map_d, const Epilogue& first_matrix, float* parts, unsigned* arrived,
                                        bool* last) {
#pragma unroll 1
  for (int item = first; item < list.count(); item += clusters) {
    const Work work = list.at(item, GROUP_M);
    if constexpr (FUSED != 0) {
      consumer.multiply_fused(work.slabs);
    } else {
      consumer.multiply(work.slabs);
    }
    if constexpr (SPLIT > 1) {
      const int tile = item / list.parts * CLUSTER + Place::rank(place.m, place.n);
      if (list.parts > 1 && !consumer.reduce(parts, arrived, tile, work.part, list.parts, last)) continue;
    }
    const Epilogue epilogue = BATCHED != 0 ? first_matrix.of_batch(work.batch) : first_matrix;
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M + consumer.index * TILE_M;
    const int column = (work.tile.n * CLUSTER_N + place.n) * BLOCK_N;
    if constexpr (STRIPS != 0) {
      consumer.store_tiles(epilogue, map_d, work.batch, row, column);
    } else {
      consumer.store_direct(epilogue, row, column);
    }
  }
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
    gemm_wgmma_split(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_raw, const __grid_constant__ TensorMap map_b,
               const __grid_constant__ TensorMap map_d, const T_C* C, const T_bias* bias, T_D* D, float* parts, unsigned* arrived,
               float alpha, float beta, int m, int n, int k, int batches, int chunk) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Memory memory{shared_address(shared)};
  const Place place;
  const int slabs = (k + BLOCK_K - 1) / BLOCK_K;
  const WorkList list{(m + BLOCK_M * CLUSTER_M - 1) / (BLOCK_M * CLUSTER_M),
                      (n + BLOCK_N * CLUSTER_N - 1) / (BLOCK_N * CLUSTER_N),
                      slabs,
                      SPLIT > 1 ? chunk : slabs,
                      SPLIT > 1 ? (slabs + chunk - 1) / chunk : 1,
                      BATCHED != 0 ? batches : 1};
  const int first = static_cast<int>(blockIdx.x) / CLUSTER;
  const int clusters = static_cast<int>(gridDim.x) / CLUSTER;

  if (threadIdx.x == 0) {
    prefetch_map(FUSED != 0 ? map_raw : map_a);
    prefetch_map(map_b);
  }
  prepare_barriers(memory);

  // The same for all lanes, and known to be: descriptors then live in uniform registers.
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / GROUP, 0);
  if (warpgroup == CONSUMERS) {
    if constexpr (REALLOCATE) take_registers<PRODUCER_REGISTERS, false>();
    if (threadIdx.x % GROUP == 0) produce(memory, place, list, first, clusters, FUSED != 0 ? map_raw : map_a, map_b);
    __syncwarp();
  } else {
    if constexpr (REALLOCATE) take_registers<CONSUMER_REGISTERS, true>();
    Consumer consumer(memory, place, warpgroup);
    const Epilogue first_matrix{D, C, bias, alpha, beta, m, n, rows_aligned(D, n, STORE_VECTOR)};
    consume(consumer, place, list, first, clusters, map_d, first_matrix, parts, arrived,
            reinterpret_cast<bool*>(shared + LAST_AT));
  }
  // Nobody leaves while a neighbour may still copy into its stages or arrive at its barriers.
  if constexpr (CLUSTER > 1) cluster_wait();
}

// Before the product: both operands to planes, a square a block.
extern "C" __global__ void __launch_bounds__(SPLIT_THREADS)
    split_operands(const float* A, const float* B, Plane* planes_a, Plane* planes_b, int m, int n, int k, int pitch, int batches) {
  const int across = (k + SQUARE - 1) / SQUARE;
  const int squares_a = FUSED != 0 ? 0 : (m + SQUARE - 1) / SQUARE * across;
  const int squares_b = (n + SQUARE - 1) / SQUARE * across;
  const int both = squares_a + squares_b;
  const int batch = BATCHED != 0 ? static_cast<int>(blockIdx.x) / both : 0;
  const int square = static_cast<int>(blockIdx.x) - batch * both;
  const auto source = [&](const float* from, Plane* to, int outer) {
    const long long before = static_cast<long long>(batch) * outer;
    return Source{from + before * k, to + before * pitch * PLANES, outer, k, pitch};
  };
  if (square < squares_a) {
    split_square<TRANS_A == 0>(source(A, planes_a, m), square / across * SQUARE, square % across * SQUARE);
  } else {
    split_square<TRANS_B != 0>(source(B, planes_b, n), (square - squares_a) / across * SQUARE, (square - squares_a) % across * SQUARE);
  }
}
