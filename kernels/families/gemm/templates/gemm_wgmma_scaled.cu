/* cupilot tunable 1
{
  "name": "gemm_wgmma_scaled",
  "family": "scaled_gemm",
  "summary": "8-bit GEMM for sm_90a by wgmma with factors of its operands, one each or one a block",
  "provides": ["wgmma_core", "tensor_map_copy", "warp_specialisation", "persistent", "shared_swizzle"],
  "requires": ["wgmma_core"],
  "when": ["elem.A == 1", "elem.B == 1", "TRANS_A == 0 && TRANS_B == 1"],
  "parameters": {
    "TILE_M": {"name": "tile_m", "technique": "warpgroup_tile", "domain": [64, 128], "plain": 64},
    "TILE_N": {"name": "tile_n", "technique": "warpgroup_tile", "domain": [16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256], "plain": 128},
    "CONSUMERS": {"name": "consumers", "technique": "warp_specialisation", "domain": [1, 2, 3], "plain": 2},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4, 5, 6, 7, 8], "plain": 4},
    "CLUSTER_M": {"name": "cluster_m", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "CLUSTER_N": {"name": "cluster_n", "technique": "cluster_multicast", "domain": [1, 2], "plain": 1},
    "GROUP_M": {"name": "group_m", "technique": "raster", "domain": [1, 2, 4, 8, 16, 32], "plain": 1},
    "CURVE": {"name": "curve", "technique": "raster", "domain": [0, 1], "plain": 0},
    "STRIPS": {"name": "strips", "technique": "tensor_map_store", "domain": [0, 1, 2], "plain": 0},
    "PROMOTED": {"name": "promoted", "domain": [0, 1], "plain": 1}
  },
  "restrict": [
    "dev.cc == 90",
    "CURVE == 0 || GROUP_M > 1",
    "CONSUMERS < 3 || TILE_N <= 200",
    "CLUSTER_M * CLUSTER_N <= 2",
    "TILE_N % (8 * CLUSTER_M) == 0",
    "TILE_M * CONSUMERS / CLUSTER_N <= 256",
    "STRIPS == 0 || elem.D > 1 && TILE_N * elem.D % 128 == 0",
    "STAGES * ((TILE_M * CONSUMERS + TILE_N) * 128 + 16) + STRIPS * CONSUMERS * 8192 + 1024 <= dev.shared",
    "TILE_M / 64 * TILE_N / (PROMOTED ? 1 : 2) + 40 + 16 * (HAS_C + HAS_BIAS + (ACT > 1)) <= (CONSUMERS == 1 ? 255 : CONSUMERS == 2 ? 232 : 160)",
    "PROMOTED == 1 || SCALE == 1 && class.fp8",
    "SCALE == 1 || 128 % TILE_N == 0"
  ],
  "plan": {
    "require": ["k % 16 == 0", "STRIPS == 0 || n * elem.D % 16 == 0"],
    "let": {
      "block_m": "TILE_M * CONSUMERS",
      "cluster": "CLUSTER_M * CLUSTER_N",
      "tiles": "cdiv(m, block_m * CLUSTER_M) * cdiv(n, TILE_N * CLUSTER_N)",
      "most": "min(tiles * batch, dev.sms / cluster)",
      "even": "cdiv(tiles * batch, cdiv(tiles * batch, most))",
      "clusters": "even * 8 >= most * 7 ? even : most",
      "stage": "(block_m + TILE_N) * 128"
    },
    "maps": [
      {"name": "map_a", "of": "A", "type": "i16", "dims": ["k * elem.A / 2", "m", "batch"],
       "pitch": ["k * elem.A", "m * k * elem.A"], "box": [64, "block_m / CLUSTER_N", 1]},
      {"name": "map_b", "of": "B", "type": "i16", "dims": ["k * elem.B / 2", "n", "batch"],
       "pitch": ["k * elem.B", "n * k * elem.B"], "box": [64, "TILE_N / CLUSTER_M", 1]},
      {"name": "map_d", "of": "D", "type": "i16", "dims": ["STRIPS ? n * elem.D / 2 : 8", "STRIPS ? m : 1", "STRIPS ? batch : 1"],
       "pitch": ["STRIPS ? n * elem.D : 16", "STRIPS ? m * n * elem.D : 16"], "box": [64, 16, 1]}
    ],
    "launches": [
      {"name": "main", "entry": "gemm_wgmma_scaled", "grid": ["clusters * cluster"],
       "block": ["(CONSUMERS + 1) * 128"], "cluster": ["cluster"],
       "shared": "STAGES * (stage + 16) + STRIPS * CONSUMERS * 8192",
       "args": ["map_a", "map_b", "map_d", "scale_a", "scale_b", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "batch"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "fed": "(block_m / CLUSTER_N + TILE_N / CLUSTER_M) * 128",
      "filling": "256 * fed / weight.fill_bytes",
      "slabs": "cdiv(k, 128 / elem.A)",
      "stored": "cdiv(tiles * batch, clusters)",
      "store": "TILE_M * TILE_N * 256 / (STRIPS ? weight.strips_rate : weight.store_rate) + 256 * weight.tile",
      "dealt": "clusters * cluster",
      "outputs": "m * n * batch * elem.D",
      "tiles_down": "cdiv(m, block_m)",
      "tiles_across": "cdiv(n, TILE_N)",
      "wave": "min(dealt, tiles_down * tiles_across)",
      "band": "min(GROUP_M * CLUSTER_M, tiles_down)",
      "all_across": "wave > band * tiles_across",
      "rows_asked": "all_across ? min(256 * tiles_down, 256 * wave / tiles_across) : 256 * min(band, wave)",
      "columns_asked": "all_across ? 256 * tiles_across : min(256 * tiles_across, max(256, 256 * wave / band))",
      "asked": "(rows_asked * block_m + columns_asked * TILE_N) * (tiles_down * tiles_across) / wave",
      "once": "(m + n) * k * elem.A * batch",
      "operands": "2 * once < dev.l2 ? once : max(once, asked * k * elem.A / 256 * batch)"
    },
    "blocks": "dealt",
    "threads": "(CONSUMERS + 1) * 128",
    "resident": "1",
    "items": "1",
    "rounds": "256 * stored * slabs",
    "math": "block_m * 16 * max(TILE_N / 2, 16 + TILE_N / 4)",
    "issue": "PROMOTED ? block_m * TILE_N * weight.flush / 50 : 0",
    "shared": "256 * stage / weight.ring_bytes",
    "fill": "filling",
    "latency": "256 * weight.latency + filling",
    "ahead": "STAGES - 1",
    "pace": "256 * weight.round",
    "ends": "stored * store",
    "start": "256 * weight.start",
    "l2": "tiles * batch * cluster * slabs * fed + outputs",
    "dram": "operands + outputs",
    "traits": {
      "imbalance": "256 * stored * clusters / (tiles * batch)",
      "idle": "256 * dev.sms / dealt",
      "stored": "256 * stored",
      "ring": "STAGES * stage / 390",
      "again": "operands * 256 / once"
    }
  }
}
*/
// Quantised operands come with fp32 factors. One for each of them (SCALE 1) multiplies finished
// sums. One for each row of A and each block of 128 columns of B, a slab (SCALE 2), multiplies a
// slab's sums on their way to the others: the promotion that 8-bit sums need anyway
// (slab_gemm.cuh).
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/slab.cuh"
#include "cupilot/cluster.cuh"
#include "cupilot/raster.cuh"
#include "cupilot/schedule.cuh"

constexpr int STORE_VECTOR = 2;  // neighbours that a thread holds
constexpr int STREAM_STORE = 0;
#include "cupilot/epilogue.cuh"
#include "cupilot/tile_store.cuh"
#include "cupilot/warpgroups.cuh"
#include "cupilot/along_k.cuh"
#include "cupilot/result_strips.cuh"
#include "cupilot/ring_gemm.cuh"
#include "cupilot/slab_gemm.cuh"

// A thread's factors: its rows', each times that of the tile's block of columns, which a tile does
// not cross. What lies outside the matrix takes the factors of its edge: it is never stored. A load
// takes longer than a slab. So the four lanes that hold the same rows fetch those of a slab each, a
// group of four slabs ahead, and hand them round.
struct BlockFactors {
  static constexpr bool ANY = true;
  static constexpr int SLABS = 4;            // a group
  const float* a;                            // of row 0, slab 0
  const float* b;                            // of the tile's columns, slab 0
  int rows, slabs;                           // of the matrix
  int own[PARTS_M][2];                       // the thread's rows
  float coming[PARTS_M][2], coming_columns;  // of this lane's slab in the next group
  float group[PARTS_M][2];                   // in this one
  float factor[PARTS_M][2];                  // of the slab

  __device__ __forceinline__ BlockFactors(const float* of_rows, const float* of_columns, int m,
                                          int all, int row)
      : a(of_rows), b(of_columns), rows(m), slabs(all) {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half) own[part][half] = min(row + part * 64 + half * 8, m - 1);
    }
    fetch(0);
  }

  __device__ __forceinline__ void fetch(int first) {
    const int slab = first + static_cast<int>(threadIdx.x) % SLABS;
    const float* of_slab = a + static_cast<long long>(slab) * rows;
    coming_columns = slab < slabs ? b[slab] : 0.0f;
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        coming[part][half] = slab < slabs ? of_slab[own[part][half]] : 0.0f;
    }
  }

  // The factors of a slab; slabs come in order.
  __device__ __forceinline__ void take(int slab) {
    if (slab % SLABS == 0) {
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          group[part][half] = coming[part][half] * coming_columns;
      }
      fetch(slab + SLABS);
    }
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        factor[part][half] = __shfl_sync(0xffffffffu, group[part][half], slab % SLABS, SLABS);
    }
  }
  __device__ __forceinline__ float of(int part, int half) const { return factor[part][half]; }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_wgmma_scaled(const __grid_constant__ TensorMap map_a,
                      const __grid_constant__ TensorMap map_b,
                      const __grid_constant__ TensorMap map_d, const float* scale_a,
                      const float* scale_b, int m, int n, int k, int batches, GRAPH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Epilogue first(Graph{GRAPH_ARGUMENTS}, m, n);
  run_block(shared, work_list(m, n, k, batches), map_a, map_b,
            [&](Consumer& consumer, const Work& work, int row, int column) {
              if constexpr (SCALE == 2) {
                const int blocks_n = (n + 127) / 128;
                const float* a = scale_a + static_cast<long long>(work.batch) * work.slabs * m;
                const float* b = scale_b + (static_cast<long long>(work.batch) * blocks_n +
                                            min(column / 128, blocks_n - 1)) *
                                               work.slabs;
                consumer.multiply_promoted(
                    work.slabs, BlockFactors(a, b, m, work.slabs,
                                             row + consumer.warp * 16 + consumer.lane / 4));
              } else if constexpr (PROMOTED != 0) {
                consumer.multiply_promoted(work.slabs, NoFactors{});
              } else {
                consumer.multiply(work.slabs);
              }
              if constexpr (SCALE == 1) consumer.scale(scale_a[0] * scale_b[0]);
              consumer.store(first.of_batch(work.batch), map_d, work.batch, row, column);
            });
}
