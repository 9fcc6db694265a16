/* cupilot tunable 2
{
  "name": "gemm_wgmma",
  "family": "gemm",
  "anchor": "matmul",
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
      "strip": "odd > 19 && odd % 3 == 0 ? odd / 3 : odd"
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
       "args": ["map_a", "map_b", "map_d", "map_d_narrow", "parts", "arrived", {"i32": "m"}, {"i32": "n"}, {"i32": "k"},
                {"i32": "batch"}, {"i32": "chunk"}, {"i32": "streamed"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "walked": "1024",
      "wide": "TRANS_B ? TILE_N : up(TILE_N, 64)",
      "straddling": "TRANS_B || wide == TILE_N ? 100 : TILE_N * elem.A % 32 ? weight.half_sectors : weight.straddling",
      "fed": "(block_m * 100 / CLUSTER_N + wide * straddling / CLUSTER_M) * 128",
      "filling": "256 * fed / (100 * weight.fill_bytes)",
      "turns": "cdiv(items, clusters)",
      "rounds_all": "streamed > 0 ? 256 * tiles * batch * slabs / clusters : 256 * turns * max(1, chunk * walked / 1024)",
      "stored": "streamed > 0 ? 256 * tiles * batch / clusters + 256 : 256 * turns",
      "store": "TILE_M * TILE_N * 256 / (STRIPS ? weight.strips_rate : weight.store_rate) * (DEFERRED ? weight.deferred : 100) / 100 + 256 * weight.tile",
      "storing": "PING_PONG ? stored * store * weight.turn / 25600 + store : stored * store / 256",
      "joining_bytes": "block_m * TILE_N * 2048 / weight.join_bytes",
      "elements": "TILE_M * TILE_N",
      "last_part": "256 * weight.part + elements * 256 * weight.part_element / 100",
      "joined": "256 * weight.join + joining_bytes + elements * 256 * weight.join_element / 100 + split * last_part",
      "joining": "split > 1 ? stored * joined / 256 : streamed > 0 ? 256 * weight.join + joining_bytes : 0",
      "dealt": "clusters * cluster",
      "parts_bytes": "8 * slots * cluster * block_m * TILE_N",
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
    "rounds": "rounds_all",
    "math": "block_m * 16 * max(TILE_N / 2, 16 + TILE_N / 4)",
    "shared": "256 * stage / weight.ring_bytes",
    "fill": "filling",
    "latency": "256 * weight.latency + filling",
    "ahead": "STAGES - 1",
    "pace": "256 * weight.round",
    "ends": "storing + joining",
    "start": "256 * weight.start",
    "l2": "tiles * batch * cluster * max(1, slabs * walked / 1024) * fed / 100 + outputs + parts_bytes",
    "dram": "operands + outputs + (2 * parts_bytes > dev.l2 ? parts_bytes : 0)",
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
// The plain Hopper GEMM: two slabs a stage, as tensor maps fill them and wgmma reads them.
// ring_gemm.cuh says how a stage is filled, drained and released.
//
// Cooperative consumers share a slab, each with its own rows of one tile. In ping-pong they own a
// tile each and take turns at the tensor cores: one multiplies while the other stores.
//
// There are as many blocks as SMs, or a few less where that costs no turn: then none idles while
// others take the last tile.
//
// tf32 operands are cut off to 10 bits after the point by the unit, where gemm_mma.cu rounds them:
// here no register sees them.
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

constexpr int STORE_VECTOR = 2;  // neighbours that a thread holds
#include "cupilot/epilogue.cuh"
#include "cupilot/tile_store.cuh"
#include "cupilot/warpgroups.cuh"

constexpr int BLOCK_K = LINE / static_cast<int>(sizeof(T_A));
constexpr int BLOCK_M = TILE_M * (PING_PONG != 0 ? 1 : CONSUMERS);
constexpr int DRAINERS = PING_PONG != 0 ? 1 : CONSUMERS;  // warpgroups that drain one stage

using RowSlab = Slab<T_A, BLOCK_M, TRANS_A == 0, CLUSTER_N>;
using ColumnSlab = Slab<T_B, TILE_N, TRANS_B != 0, CLUSTER_M>;
#include "cupilot/result_strips.cuh"
#include "cupilot/ring_gemm.cuh"
#include "cupilot/tile_parts.cuh"

// The slabs of a piece of work from one on that differs from tile to tile (ROTATE), and round.
struct Rotated {
  template <class Fill>
  static __device__ __forceinline__ void walk(const WorkList& list, const Work& work, Fill fill) {
    int slab = work.first_slab + (ROTATE != 0 ? list.turn(work) : 0);
#pragma unroll 1
    for (int left = work.slabs; left > 0; --left) {
      fill(slab);
      if (++slab == work.first_slab + work.slabs) slab = work.first_slab;
    }
  }
};

// A consumer warpgroup.
struct Consumer : Drainer {
  float sum[PARTS_M][TILE_N / 2];
  ResultStrips out;

  __device__ __forceinline__ Consumer(const Memory& shared, const Place& place, int consumer)
      : Drainer(shared, place, consumer) {
    out.strips = memory.strips(index * 4 + warp);
    out.lane = lane;
  }

  // Sums the products of `slabs` slabs. One group of products is always under way: a stage is
  // released when the next one's have been issued and its own are through. `beside` is called once
  // a slab, while the tensor cores work; `issued` when they have all there is to do.
  template <class Beside, class Issued>
  __device__ __forceinline__ void multiply(int slabs, Beside beside, Issued issued) {
    int previous = 0;
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      wait();
      const int own_rows = PING_PONG != 0 ? 0 : index * PARTS_M * PART_BYTES;
      const unsigned long long a = RowSlab::descriptor(memory.rows(ring.stage) + own_rows);
      const unsigned long long b = ColumnSlab::descriptor(memory.columns(ring.stage));
      multiply_fence();
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
#pragma unroll
        for (int part = 0; part < PARTS_M; ++part) {
          Wgmma<TILE_N>::template multiply<T_A, RowSlab::TURNED, ColumnSlab::TURNED>(
              sum[part], a + (step * RowSlab::STEP_BYTES + part * PART_BYTES) / 16,
              b + step * ColumnSlab::STEP_BYTES / 16,
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
};

// All that a consumer does: every tile of the cluster's work, or in ping-pong every other one.
__device__ __forceinline__ void consume(Consumer& consumer, const Place& place, Route route,
                                        const TensorMap& map_d, const Epilogue& first_matrix,
                                        const Meeting& meeting) {
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
    if constexpr (DEFERRED != 0)
      consumer.out.store_rest(map_d);  // where a tile has fewer slabs than pieces
    if constexpr (SPLIT > 1 || STREAM > 0) {
      if (work.parts > 1 && !meeting.join(consumer, work, consumer.sum)) continue;
    }
    const Epilogue epilogue = first_matrix.of_batch(work.batch);
    const int row = (work.tile.m * CLUSTER_M + place.m) * BLOCK_M +
                    (PING_PONG != 0 ? 0 : consumer.index * TILE_M);
    const int column = (work.tile.n * CLUSTER_N + place.n) * TILE_N;
    if constexpr (DEFERRED != 0) {
      consumer.out.pack<T_D>(epilogue, consumer.sum, work.batch, row + consumer.warp * 16, column);
    } else if constexpr (STRIPS != 0) {
      consumer.out.store(epilogue, map_d, consumer.sum, work.batch, row + consumer.warp * 16,
                         column);
    } else {
      store_direct(epilogue, consumer.sum, row, column, consumer.warp, consumer.lane);
    }
  }
  if constexpr (DEFERRED != 0) consumer.out.store_rest(map_d);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_wgmma(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
               const __grid_constant__ TensorMap map_d,
               const __grid_constant__ TensorMap map_d_narrow, float* parts, unsigned* arrived,
               int m, int n, int k, int batches, int chunk, int streamed, GRAPH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Memory memory{shared_address(shared)};
  const Place place;
  const int slabs = (k + BLOCK_K - 1) / BLOCK_K;
  const WorkList list{(m + BLOCK_M * CLUSTER_M - 1) / (BLOCK_M * CLUSTER_M),
                      (n + TILE_N * CLUSTER_N - 1) / (TILE_N * CLUSTER_N),
                      slabs,
                      SPLIT > 1 ? chunk : slabs,
                      SPLIT > 1 ? (slabs + chunk - 1) / chunk : 1,
                      BATCHED != 0 ? batches : 1,
                      static_cast<int>(gridDim.x) / CLUSTER,
                      STREAM > 0 ? streamed : 0,
                      {Graph::SPANS, BLOCK_M * CLUSTER_M, TILE_N * CLUSTER_N, BLOCK_K}};
  const Route route(list, static_cast<int>(blockIdx.x) / CLUSTER);
  if (threadIdx.x == 0) {
    prefetch_map(map_a);
    prefetch_map(map_b);
  }
  prepare_barriers(memory);

  const int warpgroup = own_warpgroup();
  if (warpgroup == CONSUMERS) {
    produce<Rotated>(memory, place, route, map_a, map_b);
  } else {
    begin_consuming();
    Consumer consumer(memory, place, warpgroup);
    const Epilogue first_matrix(Graph{GRAPH_ARGUMENTS}, m, n);
    const Meeting meeting{list, place, parts, arrived, reinterpret_cast<bool*>(shared + LAST_AT)};
    consume(consumer, place, route, STRIP_UNITS == 8 ? map_d : map_d_narrow, first_matrix, meeting);
    end_consuming();
  }
  leave_cluster();
}
