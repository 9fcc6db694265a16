/* cupilot tunable 2
{
  "name": "gemm_wgmma_split",
  "family": "gemm",
  "anchor": "matmul",
  "summary": "fp32 GEMM for sm_90a on tensor cores: operands are split into planes, whose products wgmma sums",
  "provides": ["wgmma_core", "operand_split", "accumulator_flush", "tensor_map_copy", "warp_specialisation", "persistent", "shared_swizzle"],
  "requires": ["wgmma_core", "operand_split"],
  "when": ["elem.A == 4", "elem.B == 4", "class.fp32_emulated || class.bf16x3"],
  "parameters": {
    "SCHEME": {"name": "scheme", "technique": "operand_split", "domain": [1, 2, 3], "plain": 1},
    "FUSED": {"name": "split_operand", "technique": "register_split", "domain": [0, 1, 2], "plain": 0},
    "TILE_M": {"name": "tile_m", "technique": "warpgroup_tile", "domain": [64, 128], "plain": 64},
    "TILE_N": {"name": "tile_n", "technique": "warpgroup_tile", "domain": [16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192], "plain": 128},
    "CONSUMERS": {"name": "consumers", "technique": "warp_specialisation", "domain": [1, 2, 3], "plain": 2},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4, 5, 6, 7, 8], "plain": 2},
    "CLUSTER_M": {"name": "cluster_m", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "CLUSTER_N": {"name": "cluster_n", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "GROUP_M": {"name": "group_m", "technique": "raster", "domain": [1, 2, 4, 8, 16, 32], "plain": 1},
    "CURVE": {"name": "curve", "technique": "raster", "domain": [0, 1], "plain": 0},
    "SPLIT": {"name": "split", "technique": "split_k", "domain": [1, 2, 3, 4, 6, 8, 16], "plain": 1},
    "STREAM": {"name": "stream_waves", "technique": "stream_k", "domain": [0, 1, 2], "plain": 0},
    "STRIPS": {"name": "strips", "technique": "tensor_map_store", "domain": [0, 1, 2], "plain": 0}
  },
  "restrict": [
    "dev.cc == 90",
    "class.bf16x3 ? SCHEME == 3 : SCHEME < 3",
    "FUSED == 0 || SCHEME == 1",
    "SPLIT == 1 || STREAM == 0",
    "CURVE == 0 || GROUP_M > 1",
    "CLUSTER_M * CLUSTER_N <= 2",
    "TILE_N % (8 * CLUSTER_M) == 0",
    "TILE_M * CONSUMERS / CLUSTER_N <= 256",
    "STRIPS == 0 || FUSED < 2 && elem.D > 1 && TILE_N * elem.D % 128 == 0",
    "TILE_M / 64 * (TILE_N + (FUSED ? 48 : 0)) + 32 + 16 * (HAS_C + HAS_BIAS + (ACT > 1)) <= (CONSUMERS == 1 ? 255 : CONSUMERS == 2 ? 232 : 160)"
  ],
  "plan": {
    "require": ["FUSED != 1 || (TRANS_A ? m : k) % 4 == 0", "FUSED != 2 || (TRANS_B ? k : n) % 4 == 0", "STRIPS == 0 || n * elem.D % 16 == 0"],
    "let": {
      "planes": "SCHEME == 2 ? 3 : 2",
      "each": "SCHEME == 1 ? 4 : 2",
      "pitch": "up(k, 8)",
      "rows": "FUSED == 2 ? n : m",
      "columns": "FUSED == 2 ? m : n",
      "block_rows": "TILE_M * CONSUMERS",
      "cluster": "CLUSTER_M * CLUSTER_N",
      "tiles": "cdiv(rows, block_rows * CLUSTER_M) * cdiv(columns, TILE_N * CLUSTER_N)",
      "slabs": "cdiv(k, 128 / each)",
      "chunk": "cdiv(slabs, min(SPLIT, slabs))",
      "split": "cdiv(slabs, chunk)",
      "clusters": "min(tiles * batch * (STREAM ? slabs : split), dev.sms / cluster)",
      "whole": "(tiles * batch / clusters - (STREAM > 1)) * clusters",
      "streamed": "STREAM && tiles * batch % clusters ? tiles * batch - max(whole, 0) : 0",
      "slots": "streamed > 0 ? streamed + clusters : split > 1 ? batch * tiles * split : 0",
      "stage": "((FUSED ? 1 : planes) * block_rows + planes * TILE_N) * 128",
      "squares": "((FUSED ? 0 : cdiv(rows, 64)) + cdiv(columns, 64)) * cdiv(k, 64)"
    },
    "buffers": [
      {"name": "row_planes", "bytes": "FUSED ? 16 : batch * planes * m * pitch * each"},
      {"name": "column_planes", "bytes": "batch * planes * columns * pitch * each"},
      {"name": "parts", "bytes": "slots > 0 ? slots * cluster * block_rows * TILE_N * 4 : 16"},
      {"name": "arrived", "bytes": "slots > 0 ? slots * cluster * CONSUMERS * 4 : 16", "content": "restored"}
    ],
    "maps": [
      {"name": "map_rows", "of": "row_planes", "type": "i16", "dims": ["FUSED ? 8 : k * each / 2", "FUSED ? 1 : m", "FUSED ? 1 : batch * planes"],
       "pitch": ["FUSED ? 16 : pitch * each", "FUSED ? 16 : m * pitch * each"], "box": [64, "block_rows / CLUSTER_N", 1]},
      {"name": "map_raw_a", "of": "A", "type": "i16", "dims": ["FUSED == 1 ? (TRANS_A ? m : k) * 2 : 8", "FUSED == 1 ? (TRANS_A ? k : m) : 1", "FUSED == 1 ? batch : 1"],
       "pitch": ["FUSED == 1 ? (TRANS_A ? m : k) * 4 : 16", "FUSED == 1 ? m * k * 4 : 16"], "box": [64, "(TRANS_A ? 32 : block_rows) / CLUSTER_N", 1]},
      {"name": "map_raw_b", "of": "B", "type": "i16", "dims": ["FUSED == 2 ? (TRANS_B ? k : n) * 2 : 8", "FUSED == 2 ? (TRANS_B ? n : k) : 1", "FUSED == 2 ? batch : 1"],
       "pitch": ["FUSED == 2 ? (TRANS_B ? k : n) * 4 : 16", "FUSED == 2 ? n * k * 4 : 16"], "box": [64, "(TRANS_B ? block_rows : 32) / CLUSTER_N", 1]},
      {"name": "map_columns", "of": "column_planes", "type": "i16", "dims": ["k * each / 2", "columns", "batch * planes"],
       "pitch": ["pitch * each", "columns * pitch * each"], "box": [64, "TILE_N / CLUSTER_M", 1]},
      {"name": "map_d", "of": "D", "type": "i16", "dims": ["STRIPS ? n * elem.D / 2 : 8", "STRIPS ? m : 1", "STRIPS ? batch : 1"],
       "pitch": ["STRIPS ? n * elem.D : 16", "STRIPS ? m * n * elem.D : 16"], "box": [64, 16, 1]}
    ],
    "launches": [
      {"name": "split", "entry": "split_operands", "grid": ["squares * batch"], "block": [256],
       "args": ["A", "B", "row_planes", "column_planes", {"i32": "rows"}, {"i32": "columns"}, {"i32": "k"}, {"i32": "pitch"}]},
      {"name": "main", "entry": "gemm_wgmma_split", "grid": ["clusters * cluster"],
       "block": ["(CONSUMERS + 1) * 128"], "cluster": ["cluster"],
       "shared": "STAGES * (stage + 16) + STRIPS * CONSUMERS * 8192 + 16",
       "args": ["map_rows", "map_raw_a", "map_raw_b", "map_columns", "map_d", "parts", "arrived", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "batch"}, {"i32": "chunk"}, {"i32": "streamed"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "walked": "1024",
      "products": "SCHEME == 2 ? 6 : 3",
      "fed_rows": "FUSED ? 1 : planes",
      "fed": "(fed_rows * block_rows / CLUSTER_N + planes * TILE_N / CLUSTER_M) * 128",
      "filling": "256 * fed / weight.fill_bytes",
      "items": "tiles * batch * split",
      "turns": "cdiv(items, clusters)",
      "rounds_all": "streamed > 0 ? 256 * tiles * batch * slabs / clusters : 256 * turns * max(1, chunk * walked / 1024)",
      "stored": "streamed > 0 ? 256 * tiles * batch / clusters + 256 : 256 * turns",
      "store": "TILE_M * TILE_N * 256 / (STRIPS ? weight.strips_rate : weight.store_rate) + 256 * weight.tile",
      "joining_bytes": "block_rows * TILE_N * 2048 / weight.join_bytes",
      "elements": "TILE_M * TILE_N",
      "last_part": "256 * weight.part + elements * 256 * weight.part_element / 100",
      "joined": "256 * weight.join + joining_bytes + elements * 256 * weight.join_element / 100 + split * last_part",
      "joining": "split > 1 ? stored * joined / 256 : streamed > 0 ? 256 * weight.join + joining_bytes : 0",
      "dealt": "clusters * cluster",
      "parts_bytes": "8 * slots * cluster * block_rows * TILE_N",
      "outputs": "m * n * batch * elem.D",
      "split_bytes": "batch * k * ((FUSED ? 0 : rows) + columns) * (4 + planes * each)",
      "tiles_down": "cdiv(rows, block_rows)",
      "tiles_across": "cdiv(columns, TILE_N)",
      "wave": "min(dealt, tiles_down * tiles_across)",
      "band": "min(GROUP_M * CLUSTER_M, tiles_down)",
      "all_across": "wave > band * tiles_across",
      "rows_asked": "all_across ? min(256 * tiles_down, 256 * wave / tiles_across) : 256 * min(band, wave)",
      "columns_asked": "all_across ? 256 * tiles_across : min(256 * tiles_across, max(256, 256 * wave / band))",
      "asked": "(rows_asked * block_rows + columns_asked * TILE_N) * (tiles_down * tiles_across) / wave",
      "once": "(m + n) * k * (planes * each) * batch",
      "operands": "2 * once < dev.l2 ? once : max(once, asked * k * (planes * each) / 256 * batch)"
    },
    "blocks": "dealt",
    "threads": "(CONSUMERS + 1) * 128",
    "resident": "1",
    "items": "1",
    "rounds": "rounds_all",
    "math": "products * block_rows * 16 * max(TILE_N / 2, 16 + TILE_N / 4)",
    "issue": "block_rows * TILE_N * 2 * weight.flush / 100 + (FUSED ? block_rows * 32 * weight.splitting / 50 : 0)",
    "shared": "256 * stage / weight.ring_bytes",
    "fill": "filling",
    "latency": "256 * weight.latency + filling",
    "ahead": "STAGES - 1",
    "pace": "256 * weight.round",
    "ends": "stored * store / 256 + joining",
    "start": "256 * weight.start + 256 * split_bytes / (2 * split_bytes > dev.l2 ? dev.bytes.dram : dev.bytes.l2)",
    "l2": "tiles * batch * cluster * max(1, slabs * walked / 1024) * fed + outputs + parts_bytes + split_bytes",
    "dram": "operands + outputs + (2 * split_bytes > dev.l2 ? split_bytes : 0) + (2 * parts_bytes > dev.l2 ? parts_bytes : 0)",
    "launches": "2",
    "traits": {
      "imbalance": "rounds_all * clusters / (tiles * batch * slabs)",
      "idle": "256 * dev.sms / dealt",
      "split": "256 * split",
      "streamed": "streamed > 0 ? 512 : 256",
      "chunk": "256 * chunk",
      "stored": "stored",
      "parts": "256 + parts_bytes / 3906",
      "ring": "STAGES * stage / 390",
      "again": "operands * 256 / once"
    }
  }
}
*/
// fp32 products on tensor cores that multiply tf32 or bf16: each operand is split into planes of
// falling magnitude, and the products of planes that matter are summed (split.cuh says which). Two
// launches: the first writes planes to memory, every line along K whatever the layout; the second
// is a Hopper GEMM like gemm_wgmma.cu, with as many slabs in a stage as there are planes.
//
// Tensor cores cut off what does not fit a sum, always toward zero. Two rules keep that below the
// rounding of fp32:
//   smallest first   a slab's small products are summed before its large ones, so that few cuts are
//   made at a large sum flush            after each slab the sums are added to totals in ordinary
//   registers, which round to nearest, and start anew
//
// FUSED spares one operand the way through memory: its fp32 elements come to shared memory as they
// are, and who multiplies splits them in registers, from where wgmma takes its first operand. FUSED
// 1 does so with A; FUSED 2 with B, by computing the transposed product, for few rows, where
// splitting B beforehand would cost more than multiplying. Below, `rows` and `columns` are those of
// the product as it is computed.
//
// A stage is filled, drained and released as ring_gemm.cuh says. Where FUSED its rows are drained
// by ordinary reads into registers, one slab ahead, beside the products of the slab before; its
// columns by wgmma. It is released before its sums are flushed.
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
#include "cupilot/split.cuh"
#include "cupilot/split_slab.cuh"

constexpr bool SWAPPED = FUSED == 2;
constexpr int STORE_VECTOR = SWAPPED ? 1 : 2;  // neighbours that a thread holds
constexpr int STREAM_STORE = 0;
#include "cupilot/epilogue.cuh"
#include "cupilot/tile_store.cuh"

#include "cupilot/warpgroups.cuh"

constexpr int BLOCK_K = LINE / static_cast<int>(sizeof(Plane));
constexpr int BLOCK_M = TILE_M * CONSUMERS;
constexpr int DRAINERS = CONSUMERS;
constexpr int DEFERRED = 0;

constexpr bool ROWS_K_FAST = SWAPPED ? TRANS_B != 0 : TRANS_A == 0;
constexpr bool COLUMNS_K_FAST = SWAPPED ? TRANS_A == 0 : TRANS_B != 0;
using RowPlanes = PlaneSlab<BLOCK_M, CLUSTER_N>;
using RawRows = RawSlab<BLOCK_M, ROWS_K_FAST, CLUSTER_N>;
using RowSlab = Either<FUSED != 0, RawRows, RowPlanes>::type;
using ColumnSlab = PlaneSlab<TILE_N, CLUSTER_M>;
#include "cupilot/result_strips.cuh"
#include "cupilot/ring_gemm.cuh"
#include "cupilot/tile_parts.cuh"
#include "cupilot/split_consumer.cuh"

// All that a consumer does: its rows of every tile of the cluster's work.
__device__ __forceinline__ void consume(Consumer& consumer, const Place& place, Route route,
                                        const TensorMap& map_d, const Epilogue& first_matrix,
                                        const Meeting& meeting) {
#pragma unroll 1
  while (route.more()) {
    const Work work = route.next();
    consumer.multiply(work.slabs);
    if constexpr (SPLIT > 1 || STREAM > 0) {
      if (work.parts > 1 && !meeting.join(consumer, work, consumer.total)) continue;
    }
    const Epilogue epilogue = first_matrix.of_batch(work.batch);
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M + consumer.index * TILE_M;
    const int column = (work.tile.n * CLUSTER_N + place.n) * TILE_N;
    if constexpr (STRIPS != 0) {
      consumer.out.store(epilogue, map_d, consumer.total, work.batch, row + consumer.warp * 16,
                         column);
    } else if constexpr (SWAPPED) {
      consumer.store_swapped(epilogue, row, column);
    } else {
      store_direct(epilogue, consumer.total, row, column, consumer.warp, consumer.lane);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_wgmma_split(const __grid_constant__ TensorMap map_rows,
                     const __grid_constant__ TensorMap map_raw_a,
                     const __grid_constant__ TensorMap map_raw_b,
                     const __grid_constant__ TensorMap map_columns,
                     const __grid_constant__ TensorMap map_d, float* parts, unsigned* arrived,
                     int m, int n, int k, int batches, int chunk, int streamed, GRAPH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Memory memory{shared_address(shared)};
  const Place place;
  const int rows = SWAPPED ? n : m, columns = SWAPPED ? m : n;
  const int slabs = (k + BLOCK_K - 1) / BLOCK_K;
  const WorkList list{(rows + BLOCK_M * CLUSTER_M - 1) / (BLOCK_M * CLUSTER_M),
                      (columns + TILE_N * CLUSTER_N - 1) / (TILE_N * CLUSTER_N),
                      slabs,
                      SPLIT > 1 ? chunk : slabs,
                      SPLIT > 1 ? (slabs + chunk - 1) / chunk : 1,
                      BATCHED != 0 ? batches : 1,
                      static_cast<int>(gridDim.x) / CLUSTER,
                      STREAM > 0 ? streamed : 0,
                      {SWAPPED ? Span::swapped(Graph::SPANS) : Graph::SPANS, BLOCK_M * CLUSTER_M,
                       TILE_N * CLUSTER_N, BLOCK_K}};
  const Route route(list, static_cast<int>(blockIdx.x) / CLUSTER);
  prepare_barriers(memory);

  const int warpgroup = own_warpgroup();
  if (warpgroup == CONSUMERS) {
    produce(memory, place, route,
            FUSED == 0   ? map_rows
            : FUSED == 1 ? map_raw_a
                         : map_raw_b,
            map_columns);
  } else {
    begin_consuming();
    Consumer consumer(memory, place, warpgroup);
    const Epilogue first_matrix(Graph{GRAPH_ARGUMENTS}, m, n);
    const Meeting meeting{list, place, parts, arrived, reinterpret_cast<bool*>(shared + LAST_AT)};
    consume(consumer, place, route, map_d, first_matrix, meeting);
    end_consuming();
  }
  leave_cluster();
}

// The first launch: operands to planes, a square of one of them a block.
extern "C" __global__ void __launch_bounds__(SPLIT_THREADS)
    split_operands(const float* A, const float* B, Plane* row_planes, Plane* column_planes,
                   int rows, int columns, int k, int pitch) {
  const int across = (k + SQUARE - 1) / SQUARE;
  const int of_rows = FUSED != 0 ? 0 : (rows + SQUARE - 1) / SQUARE * across;
  const int all = of_rows + (columns + SQUARE - 1) / SQUARE * across;
  const int batch = BATCHED != 0 ? static_cast<int>(blockIdx.x) / all : 0;
  const int square = static_cast<int>(blockIdx.x) - batch * all;
  const auto operand = [&](const float* from, Plane* to, int outer) {
    const long long before = static_cast<long long>(batch) * outer;
    return Source{from + before * k, to + before * pitch * PLANES, outer, k, pitch};
  };
  if (square < of_rows) {
    split_square<ROWS_K_FAST>(operand(A, row_planes, rows), square / across * SQUARE,
                              square % across * SQUARE);
  } else {
    const int of_columns = square - of_rows;
    split_square<COLUMNS_K_FAST>(operand(SWAPPED ? A : B, column_planes, columns),
                                 of_columns / across * SQUARE, of_columns % across * SQUARE);
  }
}
