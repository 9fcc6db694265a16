/* cupilot tunable 2
{
  "name": "gemm_wgmma_turned",
  "family": "gemm",
  "anchor": "matmul",
  "summary": "GEMM for sm_90a of types whose wgmma wants K innermost, in other layouts: operands are turned first",
  "provides": ["wgmma_core", "tensor_map_copy", "warp_specialisation", "persistent", "shared_swizzle", "operand_turn"],
  "requires": ["wgmma_core"],
  "when": ["elem.A == elem.B", "TRANS_A == 1 || TRANS_B == 0", "class.tf32 && elem.A == 4 || (class.fp8 || class.fp8_promoted) && elem.A == 1"],
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
    "PROMOTED": {"name": "promoted", "domain": [0, 1], "plain": 0}
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
    "TILE_M / 64 * TILE_N / (PROMOTED ? 1 : 2) + 36 + 16 * (HAS_C + HAS_BIAS + (ACT > 1)) <= (CONSUMERS == 1 ? 255 : CONSUMERS == 2 ? 232 : 160)",
    "PROMOTED == class.fp8_promoted"
  ],
  "plan": {
    "require": ["TRANS_A || k * elem.A % 16 == 0", "TRANS_B == 0 || k * elem.B % 16 == 0", "STRIPS == 0 || n * elem.D % 16 == 0"],
    "let": {
      "block_m": "TILE_M * CONSUMERS",
      "cluster": "CLUSTER_M * CLUSTER_N",
      "tiles": "cdiv(m, block_m * CLUSTER_M) * cdiv(n, TILE_N * CLUSTER_N)",
      "most": "min(tiles * batch, dev.sms / cluster)",
      "even": "cdiv(tiles * batch, cdiv(tiles * batch, most))",
      "clusters": "even * 8 >= most * 7 ? even : most",
      "stage": "(block_m + TILE_N) * 128",
      "side": "elem.A == 1 ? 128 : 32",
      "pitch": "up(k, 16 / elem.A)",
      "squares_k": "cdiv(pitch, side)",
      "squares": "squares_k * ((TRANS_A ? cdiv(m, side) : 0) + (TRANS_B ? 0 : cdiv(n, side)))"
    },
    "buffers": [
      {"name": "turned_a", "bytes": "TRANS_A ? batch * m * pitch * elem.A : 256"},
      {"name": "turned_b", "bytes": "TRANS_B ? 256 : batch * n * pitch * elem.B"}
    ],
    "maps": [
      {"name": "map_a", "of": "A", "type": "i16", "dims": ["TRANS_A ? 8 : k * elem.A / 2", "TRANS_A ? 1 : m", "TRANS_A ? 1 : batch"],
       "pitch": ["TRANS_A ? 16 : k * elem.A", "TRANS_A ? 16 : m * k * elem.A"], "box": [64, "block_m / CLUSTER_N", 1]},
      {"name": "map_b", "of": "B", "type": "i16", "dims": ["TRANS_B ? k * elem.B / 2 : 8", "TRANS_B ? n : 1", "TRANS_B ? batch : 1"],
       "pitch": ["TRANS_B ? k * elem.B : 16", "TRANS_B ? n * k * elem.B : 16"], "box": [64, "TILE_N / CLUSTER_M", 1]},
      {"name": "map_turned_a", "of": "turned_a", "type": "i16",
       "dims": ["TRANS_A ? pitch * elem.A / 2 : 8", "TRANS_A ? m : 1", "TRANS_A ? batch : 1"],
       "pitch": ["TRANS_A ? pitch * elem.A : 16", "TRANS_A ? m * pitch * elem.A : 16"], "box": [64, "block_m / CLUSTER_N", 1]},
      {"name": "map_turned_b", "of": "turned_b", "type": "i16",
       "dims": ["TRANS_B ? 8 : pitch * elem.B / 2", "TRANS_B ? 1 : n", "TRANS_B ? 1 : batch"],
       "pitch": ["TRANS_B ? 16 : pitch * elem.B", "TRANS_B ? 16 : n * pitch * elem.B"], "box": [64, "TILE_N / CLUSTER_M", 1]},
      {"name": "map_d", "of": "D", "type": "i16", "dims": ["STRIPS ? n * elem.D / 2 : 8", "STRIPS ? m : 1", "STRIPS ? batch : 1"],
       "pitch": ["STRIPS ? n * elem.D : 16", "STRIPS ? m * n * elem.D : 16"], "box": [64, 16, 1]}
    ],
    "launches": [
      {"name": "turn", "entry": "turn_operands", "grid": ["squares * batch"], "block": [256],
       "args": ["A", "B", "turned_a", "turned_b", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "pitch"}, {"i32": "squares_k"}]},
      {"name": "main", "entry": "gemm_wgmma_turned", "grid": ["clusters * cluster"],
       "block": ["(CONSUMERS + 1) * 128"], "cluster": ["cluster"],
       "shared": "STAGES * (stage + 16) + STRIPS * CONSUMERS * 8192",
       "args": ["map_a", "map_b", "map_turned_a", "map_turned_b", "map_d", {"i32": "m"}, {"i32": "n"}, {"i32": "k"},
                {"i32": "batch"}, "C?", "bias?", "D", "alpha", "beta"]}
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
      "operands": "2 * once < dev.l2 ? once : max(once, asked * k * elem.A / 256 * batch)",
      "turning": "2 * batch * k * elem.A * ((TRANS_A ? m : 0) + (TRANS_B ? 0 : n))"
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
    "start": "256 * weight.start + 256 * turning / (2 * turning > dev.l2 ? dev.bytes.dram : dev.bytes.l2)",
    "l2": "tiles * batch * cluster * slabs * fed + outputs + turning",
    "dram": "operands + outputs + (2 * turning > dev.l2 ? turning : 0)",
    "launches": "2",
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
// wgmma takes elements of 8 and of 32 bits along K only. Operands that are stored along M or N are
// turned first, by a kernel of its own whose time counts; the product then reads them as if they
// had come that way. tf32 operands are cut off to 10 bits after the point by the unit, not rounded
// as in gemm_mma.cu: no register sees them.
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/turn.cuh"
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

// A block a square: those of A first, where it is turned at all, square after square of a line of
// squares along K.
extern "C" __global__ void __launch_bounds__(TURN_THREADS)
    turn_operands(const T_A* A, const T_B* B, T_A* turned_a, T_B* turned_b, int m, int n, int k,
                  int pitch, int squares_k) {
  constexpr int SIDE = Turn<T_A>::SIDE;
  const int squares_a = TRANS_A != 0 ? (m + SIDE - 1) / SIDE * squares_k : 0;
  const int squares_b = TRANS_B != 0 ? 0 : (n + SIDE - 1) / SIDE * squares_k;
  const int batch = static_cast<int>(blockIdx.x) / (squares_a + squares_b);
  const int index = static_cast<int>(blockIdx.x) - batch * (squares_a + squares_b);
  const bool of_a = index < squares_a;
  const int own = of_a ? index : index - squares_a;
  const int outer = of_a ? m : n;
  const long long from = static_cast<long long>(batch) * k * outer,
                  to = static_cast<long long>(batch) * outer * pitch;
  const Turn<T_A> turn{of_a ? A + from : B + from, of_a ? turned_a + to : turned_b + to, k, outer,
                       pitch};
  turn.square(own % squares_k * SIDE, own / squares_k * SIDE);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm_wgmma_turned(
    const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
    const __grid_constant__ TensorMap map_turned_a, const __grid_constant__ TensorMap map_turned_b,
    const __grid_constant__ TensorMap map_d, int m, int n, int k, int batches, GRAPH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Epilogue first(Graph{GRAPH_ARGUMENTS}, m, n);
  const auto one_tile = [&](Consumer& consumer, const Work& work, int row, int column) {
    if constexpr (PROMOTED != 0) {
      consumer.multiply_promoted(work.slabs, NoFactors{});
    } else {
      consumer.multiply(work.slabs);
    }
    consumer.store(first.of_batch(work.batch), map_d, work.batch, row, column);
  };
  run_block(shared, work_list(m, n, k, batches), TRANS_A != 0 ? map_turned_a : map_a,
            TRANS_B != 0 ? map_b : map_turned_b, one_tile);
}
