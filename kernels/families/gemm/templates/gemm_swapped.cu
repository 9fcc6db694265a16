/* cupilot tunable 2
{
  "name": "gemm_swapped",
  "family": "gemm",
  "anchor": "matmul",
  "summary": "GEMM of few rows for sm_90a: the transposed product by wgmma, so that columns fill its long side; K split over a cluster",
  "provides": ["swap_operands", "tensor_map_copy", "warp_specialisation", "shared_swizzle"],
  "requires": ["swap_operands"],
  "when": ["elem.A == elem.B", "(class.bf16 || class.fp16) && elem.A == 2 || TRANS_A == 0 && TRANS_B == 1 && (class.tf32 && elem.A == 4 || class.fp8 && elem.A == 1)"],
  "parameters": {
    "TILE_M": {"name": "rows", "technique": "swap_operands", "domain": [8, 16, 24, 32, 48, 64, 96, 128], "plain": 16},
    "CONSUMERS": {"name": "consumers", "technique": "warp_specialisation", "domain": [1, 2, 3], "plain": 1},
    "STAGES": {"name": "stages", "technique": "swap_operands", "domain": [3, 4, 5, 6, 7, 8, 10, 12, 16, 20], "plain": 8},
    "SPLIT": {"name": "split", "technique": "swap_operands", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2], "plain": 1}
  },
  "restrict": [
    "dev.cc == 90",
    "TILE_M / 2 + 48 <= 65536 / ((CONSUMERS * 128 + 32) * MIN_BLOCKS)",
    "(STAGES * ((TRANS_A ? up(TILE_M, 64) : TILE_M) * 128 + CONSUMERS * 8192 + 16) + 1024) * MIN_BLOCKS <= dev.shared"
  ],
  "plan": {
    "require": ["m <= 256", "(TRANS_A ? m : k) * elem.A % 16 == 0", "(TRANS_B ? k : n) * elem.B % 16 == 0"],
    "let": {
      "columns": "CONSUMERS * 64",
      "tiles": "cdiv(m, TILE_M) * cdiv(n, columns)",
      "slabs": "cdiv(k, 128 / elem.A)",
      "chunk": "cdiv(slabs, min(SPLIT, slabs))",
      "split": "cdiv(slabs, chunk)",
      "stage": "((TRANS_A ? up(TILE_M, 64) : TILE_M) + columns) * 128"
    },
    "maps": [
      {"name": "map_a", "of": "A", "type": "i16", "dims": ["(TRANS_A ? m : k) * elem.A / 2", "TRANS_A ? k : m", "batch"],
       "pitch": ["(TRANS_A ? m : k) * elem.A", "m * k * elem.A"], "box": [64, "TRANS_A ? 64 : TILE_M", 1]},
      {"name": "map_b", "of": "B", "type": "i16", "dims": ["(TRANS_B ? k : n) * elem.B / 2", "TRANS_B ? n : k", "batch"],
       "pitch": ["(TRANS_B ? k : n) * elem.B", "n * k * elem.B"], "box": [64, "TRANS_B ? columns : 64", 1]}
    ],
    "launches": [
      {"name": "main", "entry": "gemm_swapped", "grid": ["tiles * batch * split"], "block": ["CONSUMERS * 128 + 32"], "cluster": ["split"],
       "shared": "STAGES * (stage + 16)",
       "args": ["map_a", "map_b", {"i32": "m"}, {"i32": "n"}, {"i32": "slabs"}, {"i32": "chunk"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "stage_bytes": "(TILE_M + columns) * 128",
      "dealt": "tiles * batch * split",
      "slab_bytes": "(TILE_M + columns) * (128 / elem.A) * elem.A",
      "each_sm": "cdiv(dealt, dev.sms)",
      "parts_bytes": "split > 1 ? 8 * dealt * TILE_M * columns : 0",
      "outputs": "m * n * batch * elem.D",
      "tiles_down": "cdiv(m, TILE_M)",
      "tiles_across": "cdiv(n, columns)",
      "wave": "min(dev.sms * model.resident, tiles_down * tiles_across)",
      "band": "min(1, tiles_down)",
      "all_across": "wave > band * tiles_across",
      "rows_asked": "all_across ? min(256 * tiles_down, 256 * wave / tiles_across) : 256 * min(band, wave)",
      "columns_asked": "all_across ? 256 * tiles_across : min(256 * tiles_across, max(256, 256 * wave / band))",
      "asked": "(rows_asked * TILE_M + columns_asked * columns) * (tiles_down * tiles_across) / wave",
      "once": "(m + n) * k * elem.A * batch",
      "operands": "2 * once < dev.l2 ? once : max(once, asked * k * elem.A / 256 * batch)"
    },
    "blocks": "dealt",
    "threads": "CONSUMERS * 128 + 32",
    "registers": "MIN_BLOCKS > 1 ? min(weight.registers, 65536 / ((CONSUMERS * 128 + 32) * MIN_BLOCKS)) : weight.registers",
    "shared_bytes": "STAGES * stage_bytes",
    "rounds": "256 * chunk",
    "math": "CONSUMERS * 1024 * max(TILE_M / 2, 16 + TILE_M / 4)",
    "issue": "256",
    "shared": "256",
    "fill": "256 * slab_bytes / weight.fill_bytes",
    "chain": "256 * weight.round",
    "latency": "256 * weight.latency + 256 * slab_bytes / weight.fill_bytes",
    "ahead": "STAGES - 1",
    "ends": "each_sm * TILE_M * columns * 256 / weight.store_rate",
    "start": "256 * weight.latency + (split > 1 ? 256 * weight.join + each_sm * TILE_M * columns * 1024 / weight.join_bytes : 0)",
    "l2": "dealt * chunk * slab_bytes + outputs + parts_bytes",
    "dram": "operands + outputs + (2 * parts_bytes > dev.l2 ? parts_bytes : 0)",
    "traits": {
      "split": "256 * split"
    }
  }
}
*/
// D^T = B^T A^T: the 64 rows that wgmma insists on are columns of B, and its short side is as short
// as A has rows. A block computes one tile of TILE_M rows by 64 columns for each consumer
// warpgroup; a producer warp feeds slabs of both operands into a ring of stages in shared memory.
//
// The life of a stage:  filled    by copies of the producer, which waits for `empty` and tells
// `full` the bytes to expect
//                       drained   by wgmma, once `full` says that the bytes have landed
//                       released  by an arrival of each consumer warp at `empty`, once its products
//                       were waited for
//
// If columns are too few for all SMs, the blocks of a cluster split K. Each leaves its sums in
// its own shared memory; then each adds up its share of the tile from all of them, in the order of
// their ranks.
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/raster.cuh"
#include "cupilot/schedule.cuh"
#include "cupilot/slab.cuh"

constexpr int STORE_VECTOR = 2;
constexpr int STREAM_STORE = 0;
#include "cupilot/epilogue.cuh"

constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int THREADS = GROUP * CONSUMERS + 32;
constexpr int COLUMNS = 64 * CONSUMERS;
constexpr int PITCH =
    COLUMNS + 4;  // floats between rows of sums in shared memory, spread over the banks
using SlabA = Slab<T_A, TILE_M, TRANS_A == 0, 1>;
using SlabB = Slab<T_B, COLUMNS, TRANS_B != 0, 1>;
constexpr int STAGE_BYTES = SlabA::BYTES + SlabB::BYTES;
constexpr int STEPS = 4;  // products along a slab, 32 bytes of K each
static_assert(TILE_M * PITCH * 4 <= STAGES * STAGE_BYTES, "the sums take the place of the ring");

// Shared memory: the stages, each a slab of B and one of A; their barriers.
struct Memory {
  unsigned base;
  __device__ __forceinline__ unsigned b(int stage) const { return base + stage * STAGE_BYTES; }
  __device__ __forceinline__ unsigned a(int stage) const { return b(stage) + SlabB::BYTES; }
  __device__ __forceinline__ unsigned full(int stage) const {
    return base + STAGES * STAGE_BYTES + stage * 16;
  }
  __device__ __forceinline__ unsigned empty(int stage) const { return full(stage) + 8; }
};

// Work of this block: slabs first_slab, ... of the tile that starts at (row, column).
struct Part {
  int matrix, row, column, first_slab, slabs;
};

// Tiles that need the same columns of B are neighbours.
__device__ __forceinline__ Part part_of(int tile, int m, int n, int first_slab, int slabs) {
  const int tiles_m = (m + TILE_M - 1) / TILE_M;
  const int per_matrix = tiles_m * ((n + COLUMNS - 1) / COLUMNS);
  const int matrix = BATCHED != 0 ? tile / per_matrix : 0;
  const int within = tile - matrix * per_matrix;
  return {matrix, within % tiles_m * TILE_M, within / tiles_m * COLUMNS, first_slab, slabs};
}

// The producer: one thread.
__device__ __forceinline__ void produce(const Memory& memory, const Part& part,
                                        const TensorMap& map_a, const TensorMap& map_b) {
  Ring<STAGES> ring;
#pragma unroll 1
  for (int slab = part.first_slab; slab < part.first_slab + part.slabs; ++slab) {
    wait_barrier(memory.empty(ring.stage), ring.parity ^ 1);
    const unsigned full = memory.full(ring.stage);
    arrive_expecting(full, STAGE_BYTES);
    SlabB::fill(memory.b(ring.stage), map_b, full, part.column, slab, part.matrix, 0, 1);
    SlabA::fill(memory.a(ring.stage), map_a, full, part.row, slab, part.matrix, 0, 1);
    ring.advance();
  }
}

// A consumer warpgroup: sums the products of 64 columns. One group of products is always under way,
// and a stage is released when the next one's have been issued and its own are through.
__device__ __forceinline__ void consume(const Memory& memory, int slabs, int index,
                                        float (&sum)[TILE_M / 2]) {
  Ring<STAGES> ring;
  int previous = 0;
#pragma unroll 1
  for (int slab = 0; slab < slabs; ++slab) {
    wait_barrier(memory.full(ring.stage), ring.parity);
    const unsigned long long long_side =
        SlabB::descriptor(memory.b(ring.stage) + index * SlabB::BLOCK_BYTES);
    const unsigned long long short_side = SlabA::descriptor(memory.a(ring.stage));
    multiply_fence();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      Wgmma<TILE_M>::template multiply<T_A, SlabB::TURNED, SlabA::TURNED>(
          sum, long_side + step * SlabB::STEP_BYTES / 16,
          short_side + step * SlabA::STEP_BYTES / 16,
          slab + step);  // the first product does not look at the sums
    }
    multiply_commit();
    multiply_wait<1>();
    if (slab > 0 && threadIdx.x % 32 == 0) arrive(memory.empty(previous));
    previous = ring.stage;
    ring.advance();
  }
  multiply_wait<0>();
  settle(sum);
}

// Leaves a warpgroup's sums in `tile`, TILE_M rows of COLUMNS: its registers hold columns of the
// tile down the lanes.
__device__ __forceinline__ void leave(float* tile, int index, const float (&sum)[TILE_M / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  float* to = tile + lane % 4 * 2 * PITCH + index * 64 + warp * 16 + lane / 4;
#pragma unroll
  for (int j = 0; j < TILE_M / 8; ++j) {
#pragma unroll
    for (int r = 0; r < 4; ++r) to[(j * 8 + r % 2) * PITCH + r / 2 * 8] = sum[j * 4 + r];
  }
}

__device__ __forceinline__ float2 load_pair_of(unsigned tile, int rank) {
  float2 pair;
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair.x), "=f"(pair.y)
               : "r"(address_in(tile, rank))
               : "memory");
  return pair;
}

// Adds the tiles of all blocks of the cluster and stores this one's share: pairs of columns, dealt
// to all threads in turn.
__device__ __forceinline__ void add_and_store(const Epilogue& epilogue, const Part& part,
                                              const float* tile, int rank, int split) {
  constexpr int PAIRS = TILE_M * COLUMNS / 2;
  for (int pair = rank * THREADS + static_cast<int>(threadIdx.x); pair < PAIRS;
       pair += split * THREADS) {
    const int row = pair / (COLUMNS / 2);
    const int column = pair % (COLUMNS / 2) * 2;
    const float* at = tile + row * PITCH + column;
    float2 sum = {0.0f, 0.0f};
    if constexpr (SPLIT > 1) {
#pragma unroll
      for (int other = 0; other < SPLIT; ++other) {
        if (other >= split) break;
        const float2 theirs = load_pair_of(shared_address(at), other);
        sum.x += theirs.x;
        sum.y += theirs.y;
      }
    } else {
      sum = *reinterpret_cast<const float2*>(at);
    }
    epilogue.store(part.row + row, part.column + column, {sum.x, sum.y});
  }
}

__device__ __forceinline__ void everyone_waits() {
  if constexpr (SPLIT > 1) {
    cluster_wait();
  } else {
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_swapped(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                 int m, int n, int slabs, int chunk, GRAPH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Memory memory{shared_address(shared)};
  if (threadIdx.x == 0) {
    prefetch_map(map_b);
    prefetch_map(map_a);
    for (int stage = 0; stage < STAGES; ++stage) {
      init_barrier(memory.full(stage), 1);
      init_barrier(memory.empty(stage), CONSUMERS * 4);
    }
    publish_barriers();
  }
  __syncthreads();

  const int split = SPLIT > 1 ? (slabs + chunk - 1) / chunk : 1;
  const int rank = static_cast<int>(blockIdx.x) % split;
  const Part part = part_of(static_cast<int>(blockIdx.x) / split, m, n, rank * chunk,
                            min(chunk, slabs - rank * chunk));

  // Equal in all lanes, and known to be: descriptors then live in uniform registers.
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / GROUP, 0);
  float* sums = reinterpret_cast<float*>(shared);
  if (warpgroup == CONSUMERS) {
    if (threadIdx.x % 32 == 0) produce(memory, part, map_a, map_b);
    __syncwarp();
  } else {
    float sum[TILE_M / 2];
    consume(memory, part.slabs, warpgroup, sum);
    named_wait(1, CONSUMERS * GROUP);  // no warp reads the ring any more
    leave(sums, warpgroup, sum);
  }
  everyone_waits();
  const Epilogue epilogue = Epilogue(Graph{GRAPH_ARGUMENTS}, m, n).of_batch(part.matrix);
  add_and_store(epilogue, part, sums, rank, split);
  // Nobody leaves while others read its shared memory.
  if constexpr (SPLIT > 1) cluster_wait();
}
