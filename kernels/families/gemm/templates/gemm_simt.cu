/* cupilot tunable 2
{
  "name": "gemm_simt",
  "family": "gemm",
  "anchor": "matmul",
  "summary": "GEMM by fp32 multiply-adds: block, warp and thread tiles over slabs of K in shared memory",
  "provides": ["simt_core"],
  "requires": ["simt_core"],
  "when": ["elem.A == elem.B", "elem.A <= 4"],
  "parameters": {
    "BLOCK_M": {"name": "block_m", "technique": "block_tile", "domain": [16, 32, 64, 128, 256], "plain": 64},
    "BLOCK_N": {"name": "block_n", "technique": "block_tile", "domain": [16, 32, 64, 128, 256], "plain": 64},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [4, 8, 16, 32], "plain": 8},
    "THREAD_M": {"name": "thread_m", "technique": "thread_tile", "domain": [1, 2, 4, 8, 16], "plain": 4},
    "THREAD_N": {"name": "thread_n", "technique": "thread_tile", "domain": [1, 2, 4, 8, 16], "plain": 4},
    "LANES_M": {"name": "lanes_m", "technique": "lane_grid", "domain": [1, 2, 4, 8, 16, 32], "plain": 4},
    "WARPS_DOWN": {"name": "warps_down", "technique": "warp_raster", "domain": [0, 1], "plain": 0},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "PAD": {"name": "pad", "technique": "shared_padding", "domain": [0, 4, 8, 12], "plain": 0},
    "PERMUTE": {"name": "permuted_transpose", "technique": "permuted_transpose", "domain": [0, 1], "plain": 0},
    "ASYNC": {"name": "async_copy", "technique": "async_copy", "domain": [0, 1], "plain": 0},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [1, 2, 3, 4, 5], "plain": 1},
    "TRANSPOSE": {"name": "transpose_on_load", "technique": "transpose_on_load", "domain": [0, 1], "plain": 0},
    "PREFETCH": {"name": "register_prefetch", "technique": "register_prefetch", "domain": [0, 1], "plain": 0},
    "FRAGMENTS": {"name": "fragment_double_buffer", "technique": "fragment_double_buffer", "domain": [0, 1], "plain": 0},
    "INTERLEAVE": {"name": "interleaved_loads", "technique": "interleaved_loads", "domain": [0, 1, 2], "plain": 0},
    "COLUMN_RUNS": {"name": "column_runs", "technique": "column_runs", "domain": [0, 1], "plain": 0},
    "UNROLL_K": {"name": "unroll_k", "technique": "unroll", "domain": [0, 1, 2, 4, 8], "plain": 0},
    "SPLIT": {"name": "split", "technique": "split_k", "domain": [1, 2, 3, 4, 6, 8, 16, 32], "plain": 1},
    "GROUP_M": {"name": "group_m", "technique": "raster", "domain": [1, 2, 4, 8, 16, 32], "plain": 1},
    "SERPENTINE": {"name": "serpentine", "technique": "serpentine", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1},
    "STORE_VECTOR": {"name": "store_vector", "technique": "vector_epilogue", "domain": [1, 2, 4, 8], "plain": 1},
    "STREAM_STORE": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0},
    "CACHE_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "FULL_PATH": {"name": "predicated_tail", "technique": "predicated_tail", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "registers_wanted": "THREAD_M * THREAD_N + (THREAD_M + THREAD_N) * (1 + FRAGMENTS) + (ASYNC ? 0 : (BLOCK_M + BLOCK_N) * BLOCK_K * elem.A / 4 * THREAD_M * THREAD_N / (BLOCK_M * BLOCK_N)) + 30"
  },
  "restrict": [
    "BLOCK_M % (LANES_M * THREAD_M) == 0",
    "BLOCK_N % (32 / LANES_M * THREAD_N) == 0",
    "BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N) <= dev.threads",
    "VECTOR * elem.A <= 16 && BLOCK_K % VECTOR == 0",
    "UNROLL_K == 0 || BLOCK_K % UNROLL_K == 0",
    "FRAGMENTS == 0 || UNROLL_K != 1",
    "PERMUTE == 0 || UNROLL_K == 0",
    "STAGES * BLOCK_K * (BLOCK_M + BLOCK_N + 2 * PAD) * 4 <= dev.shared - 64",
    "MIN_BLOCKS * (STAGES * BLOCK_K * (BLOCK_M + BLOCK_N + 2 * PAD) * 4 + 1088) <= dev.shared + 1024",
    "registers_wanted <= 255",
    "registers_wanted * MIN_BLOCKS * (BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N)) <= dev.registers",
    "(BLOCK_M + BLOCK_N) * BLOCK_K <= 64 * (BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N))"
  ],
  "registers": "registers_wanted",
  "plan": {
    "let": {
      "threads": "BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N)",
      "tiles": "cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)",
      "slabs": "cdiv(k, BLOCK_K)",
      "chunk": "cdiv(slabs, min(SPLIT, slabs))",
      "split": "cdiv(slabs, chunk)"
    },
    "buffers": [
      {"name": "parts", "bytes": "split > 1 ? batch * tiles * split * BLOCK_M * BLOCK_N * 4 : 16"},
      {"name": "arrived", "bytes": "split > 1 ? batch * tiles * 4 : 16", "content": "restored"}
    ],
    "launches": [
      {"name": "main", "entry": "gemm_simt", "grid": ["tiles * batch", "split"], "block": ["threads"],
       "shared": "STAGES * BLOCK_K * (BLOCK_M + BLOCK_N + 2 * PAD) * 4",
       "args": ["A", "B", "parts", "arrived", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "chunk * BLOCK_K"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "walked": "1024",
      "block_threads": "BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N)",
      "fast_a": "!TRANS_A",
      "async_a": "ASYNC && elem.A == 4 && !(fast_a && TRANSPOSE)",
      "width_a": "async_a && fast_a ? 1 : VECTOR",
      "copies_a": "BLOCK_M * BLOCK_K / width_a",
      "line_a": "max(1, (fast_a ? BLOCK_K : BLOCK_M) / width_a)",
      "sectors_a": "max(1, 32 / line_a) * max(1, (min(32, line_a) * width_a * elem.A + 31) / 32)",
      "pitch_a": "4 * (BLOCK_M + PAD)",
      "spread_a": "PERMUTE && width_a == 1 && THREAD_M >= 4 && BLOCK_K > 8 && BLOCK_K <= 32 && block_threads % line_a == 0 && block_threads / line_a % 4 == 0",
      "turned_a": "width_a * (spread_a ? passes(8, pitch_a, 4, 0) : passes(min(32, line_a), width_a * pitch_a, 4, 0))",
      "passes_a": "fast_a ? turned_a : passes(cdiv(32, line_a), pitch_a, 4 * width_a, 0)",
      "each_a": "cdiv(copies_a, block_threads)",
      "loading_a": "(width_a == 1 ? weight.element_load + weight.element_guard * !FULL_PATH : weight.vector_load + weight.vector_guard * !FULL_PATH) + (fast_a ? weight.turned_store * width_a : weight.slab_store) + (elem.A == 2 ? weight.widening * width_a : 0)",
      "copying_a": "copies_a * (async_a ? weight.async_copy + weight.async_guard * !FULL_PATH : loading_a)",
      "fast_b": "TRANS_B",
      "async_b": "ASYNC && elem.A == 4 && !(fast_b && TRANSPOSE)",
      "width_b": "async_b && fast_b ? 1 : VECTOR",
      "copies_b": "BLOCK_N * BLOCK_K / width_b",
      "line_b": "max(1, (fast_b ? BLOCK_K : BLOCK_N) / width_b)",
      "sectors_b": "max(1, 32 / line_b) * max(1, (min(32, line_b) * width_b * elem.A + 31) / 32)",
      "pitch_b": "4 * (BLOCK_N + PAD)",
      "spread_b": "PERMUTE && width_b == 1 && THREAD_N >= 4 && BLOCK_K > 8 && BLOCK_K <= 32 && block_threads % line_b == 0 && block_threads / line_b % 4 == 0",
      "turned_b": "width_b * (spread_b ? passes(8, pitch_b, 4, 0) : passes(min(32, line_b), width_b * pitch_b, 4, 0))",
      "passes_b": "fast_b ? turned_b : passes(cdiv(32, line_b), pitch_b, 4 * width_b, 0)",
      "each_b": "cdiv(copies_b, block_threads)",
      "loading_b": "(width_b == 1 ? weight.element_load + weight.element_guard * !FULL_PATH : weight.vector_load + weight.vector_guard * !FULL_PATH) + (fast_b ? weight.turned_store * width_b : weight.slab_store) + (elem.A == 2 ? weight.widening * width_b : 0)",
      "copying_b": "copies_b * (async_b ? weight.async_copy + weight.async_guard * !FULL_PATH : loading_b)",
      "lanes_n": "32 / LANES_M",
      "reads_a": "cdiv(THREAD_M, 4) * (lanes_n > 1 ? max(1, min(THREAD_M, 4) / 2) : min(THREAD_M, 4))",
      "reads_b": "cdiv(THREAD_N, 4) * (lanes_n <= 2 ? max(1, min(THREAD_N, 4) / 2) : min(THREAD_N, 4))",
      "products": "BLOCK_K * THREAD_M * THREAD_N",
      "loads": "BLOCK_K * (cdiv(THREAD_M, 4) + cdiv(THREAD_N, 4))",
      "fragments": "256 * loads",
      "loops": "UNROLL_K > 0 && UNROLL_K < BLOCK_K ? weight.loop * BLOCK_K / UNROLL_K : 0",
      "serial": "(!async_a && width_a > 1 ? each_a : 0) + (!async_b && width_b > 1 ? each_b : 0)",
      "block_bytes": "STAGES * BLOCK_K * (BLOCK_M + BLOCK_N + 2 * PAD) * 4",
      "read_wait": "weight.shared_latency + reads_a + reads_b",
      "step": "FRAGMENTS ? 256 * max(read_wait, THREAD_M * THREAD_N) : 256 * THREAD_M * THREAD_N + 256 * weight.read_share * read_wait / 100",
      "own": "BLOCK_K * (step + 256 * weight.step_wait) + 256 * weight.barrier * (STAGES > 1 ? 1 : 2) + 256 * weight.fetch_wait * fetched + 256 * weight.copy_wait * started",
      "held": "(async_a ? 0 : each_a * max(1, width_a * elem.A / 4)) + (async_b ? 0 : each_b * max(1, width_b * elem.A / 4))",
      "fetched": "(async_a ? 0 : each_a) + (async_b ? 0 : each_b)",
      "started": "(async_a ? each_a : 0) + (async_b ? each_b : 0)",
      "limit": "min(255 * 256, dev.registers * 256 / (block_threads * MIN_BLOCKS))",
      "wanted": "256 * weight.registers + 256 * weight.sum_registers * (THREAD_M * THREAD_N) / 100 + 256 * weight.fragment_registers * (THREAD_M + THREAD_N) * (100 + weight.double_fragments * FRAGMENTS) / 10000 + 256 * (weight.held_registers + weight.prefetch_registers * PREFETCH) * held / 100 - 256 * weight.fetch_registers * fetched / 100 + 256 * weight.copy_registers * started / 100 + (SPLIT > 1 ? 256 * weight.split_registers : 0)",
      "spilled": "max(0, wanted - limit)",
      "spill_bytes": "spilled * block_threads * weight.spill_accesses * 4",
      "l1": "max(weight.least_l1, dev.shared_sm - model.resident * (block_bytes + 1024))",
      "missed": "spilled > 0 ? min(256, max(0, model.resident * block_threads * spilled * 4 / l1 - 256 * weight.l1_percent / 100)) : 0",
      "asked_bytes": "copies_a * sectors_a + copies_b * sectors_b",
      "moved": "256 * asked_bytes + spill_bytes * missed / 256",
      "filling": "256 * asked_bytes / weight.fill_bytes",
      "one_fetch": "256 * weight.latency",
      "in_turn": "max(100, serial * weight.waits_in_turn) * one_fetch / 100",
      "ring_wait": "one_fetch + filling - (STAGES > 1 ? (STAGES - 1) * own : 0)",
      "prefetched": "max(one_fetch * weight.least_wait / 100, one_fetch - own * weight.hidden_by_prefetch / 100) + in_turn - one_fetch",
      "waits": "fetched == 0 ? max(0, ring_wait) : PREFETCH ? prefetched : in_turn",
      "dealt": "tiles * batch * split",
      "active": "min(256 * model.resident, max(256, 256 * dealt / dev.sms))",
      "each_sm": "cdiv(dealt, dev.sms)",
      "parts_bytes": "split > 1 ? 8 * dealt * BLOCK_M * BLOCK_N : 0",
      "outputs": "m * n * batch * elem.A",
      "tiles_down": "cdiv(m, BLOCK_M)",
      "tiles_across": "cdiv(n, BLOCK_N)",
      "wave": "min(dev.sms * model.resident, tiles_down * tiles_across)",
      "band": "min(GROUP_M, tiles_down)",
      "all_across": "wave > band * tiles_across",
      "rows_asked": "all_across ? min(256 * tiles_down, 256 * wave / tiles_across) : 256 * min(band, wave)",
      "columns_asked": "all_across ? 256 * tiles_across : min(256 * tiles_across, max(256, 256 * wave / band))",
      "asked": "(rows_asked * BLOCK_M + columns_asked * BLOCK_N) * (tiles_down * tiles_across) / wave",
      "once": "(m + n) * k * elem.A * batch",
      "operands": "2 * once < dev.l2 ? once : max(once, asked * k * elem.A / 256 * batch)"
    },
    "blocks": "dealt",
    "threads": "block_threads",
    "registers": "min(max(wanted, 4096), max(4096, limit)) / 256",
    "shared_bytes": "block_bytes",
    "rounds": "256 * max(1, chunk * walked / 1024)",
    "math": "2 * block_threads * products",
    "issue": "(block_threads * (weight.product * products + weight.load * loads + loops + weight.slab) + copying_a + copying_b) * weight.issue / 5000",
    "shared": "8 * block_threads * BLOCK_K * (reads_a + reads_b) + 8 * (copies_a * (passes_a + 1) + copies_b * (passes_b + 1)) + spill_bytes / 128",
    "fill": "moved / weight.fill_bytes",
    "chain": "own + moved / weight.fill_bytes / 2",
    "latency": "waits",
    "ends": "each_sm * (65536 * weight.end / active + 256 * BLOCK_M * BLOCK_N / weight.store_rate)",
    "start": "256 * weight.end + (split > 1 ? 256 * weight.join + each_sm * BLOCK_M * BLOCK_N * 262144 / weight.join_bytes / min(active, 512) : 0)",
    "l2": "dealt * max(1, chunk * walked / 1024) * moved / 256 + outputs + parts_bytes",
    "dram": "operands + outputs + (2 * parts_bytes > dev.l2 ? parts_bytes : 0)",
    "traits": {
      "wanted": "wanted",
      "spilled": "256 + spilled",
      "serial": "256 + 256 * serial",
      "split": "256 * split",
      "own": "own",
      "fragment_loads": "fragments"
    }
  }
}
*/
// A block computes a BLOCK_M x BLOCK_N tile of D. It walks K in slabs of BLOCK_K: a slab of A and
// one of B are brought to shared memory as floats, K outermost (the field's "MN-major"), so that a
// thread reads its rows of A and columns of B as vectors; each thread multiplies them into THREAD_M
// x THREAD_N sums that stay in registers.
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/pipeline.cuh"
#include "cupilot/raster.cuh"
#include "cupilot/span.cuh"
#include "cupilot/split_k.cuh"
#include "cupilot/epilogue.cuh"

constexpr int THREADS = BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N);
#include "cupilot/operand_copy.cuh"

constexpr int LANES_N = 32 / LANES_M;
constexpr int WARPS_M = BLOCK_M / (LANES_M * THREAD_M);
constexpr int WARPS_N = BLOCK_N / (LANES_N * THREAD_N);

template <class T>
constexpr bool is_float = false;
template <>
constexpr bool is_float<float> = true;

// A thread's tile is cut into pieces of up to 4 neighbours, and the pieces of one warp are
// interleaved, so that a warp's vector reads of shared memory cover adjacent addresses.
template <int SIZE, int LANES>
struct Pieces {
  static constexpr int WIDTH = SIZE < 4 ? SIZE : 4;
  static constexpr int COUNT = SIZE / WIDTH;
  // Offset of a lane's piece within the warp tile.
  static __device__ __forceinline__ int at(int piece, int lane) {
    return (piece * LANES + lane) * WIDTH;
  }

  // Reads piece p, `first` being the lane's first; `key` undoes the permutation of the slab's row.
  static __device__ __forceinline__ void load(float (&to)[SIZE], const float* first, int p,
                                              int key) {
    const Vector<float, WIDTH> piece = load_vector<float, WIDTH>(first + p * LANES * WIDTH);
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) to[p * WIDTH + j] = piece.at[j ^ key];
  }
};
using RowPieces = Pieces<THREAD_M, LANES_M>;
using ColumnPieces = Pieces<THREAD_N, LANES_N>;

// A slab passes registers when it must be converted, or transposed by the register route.
template <class T, bool K_FAST>
constexpr bool by_async = ASYNC != 0 && is_float<T> && !(K_FAST && TRANSPOSE != 0);
// Elements a single copy moves. cp.async can only transpose one element at a time.
template <class T, bool K_FAST>
constexpr int copy_width = by_async<T, K_FAST>&& K_FAST ? 1 : VECTOR;

// One operand's way to a slab in shared memory: slab[k][o], so where neighbours along K are
// adjacent in global memory the slab is a transpose.
template <class T, int OUTER, bool K_FAST, int PIECE_WIDTH,
          class Copy = OperandCopy<T, OUTER, K_FAST, copy_width<T, K_FAST>>>
struct Operand : Copy {
  static constexpr int PITCH = OUTER + PAD;
  static constexpr int FLOATS = PITCH * BLOCK_K;
  static constexpr bool BY_ASYNC = by_async<T, K_FAST>;
  static constexpr int WIDTH = copy_width<T, K_FAST>;
  using Copy::EACH, Copy::TAIL_UNROLL, Copy::PER_LINE;
  using Copy::from, Copy::mine, Copy::present, Copy::place, Copy::load_chunk;
  using Copy::o, Copy::k, Copy::aligned, Copy::all_outer, Copy::matrix_start;

  // A warp that transposes single elements writes BLOCK_K rows of one column: with a pitch of 4
  // beyond a multiple of 32, every eighth row falls into the same bank. Permuted, each group of 8
  // rows permutes the floats within a vector its own way, which spreads them over the banks; the
  // reader undoes it by naming registers.
  static constexpr bool PERMUTED = PERMUTE != 0 && K_FAST && WIDTH == 1 && PIECE_WIDTH == 4 &&
                                   BLOCK_K <= 32 && THREADS % PER_LINE == 0 &&
                                   THREADS / PER_LINE % 4 == 0;
  static __device__ constexpr int key(int k) {
    return PERMUTED && BLOCK_K > 8 ? k / 8 * (32 / BLOCK_K) % 4 : 0;
  }

  int to;  // index in shared memory of this thread's first element of a slab
  Vector<T, WIDTH> held[BY_ASYNC ? 1 : EACH];  // a slab on its way by registers

  __device__ __forceinline__ Operand(const T* matrix, int row_pitch, int outer_first,
                                     int outer_count, int k_first)
      : Copy(matrix, row_pitch, outer_first, outer_count, k_first), to(k * PITCH + (o ^ key(k))) {}

  static __device__ constexpr int to_step(int i) {
    return place(i * THREADS).k * PITCH + place(i * THREADS).o;
  }

  // Starts the copies of a slab straight into shared memory.
  __device__ __forceinline__ void copy(float* stage, int slab, int k_left) const {
    const unsigned target = shared_address(stage + to);
    if (all_outer && k_left >= BLOCK_K) {
#pragma unroll
      for (int i = 0; i < EACH; ++i) {
        if (mine(i)) copy_async<4 * WIDTH, CACHE_HINT != 0>(target + 4 * to_step(i), from(slab, i));
      }
      return;
    }
#pragma unroll TAIL_UNROLL
    for (int i = 0; i < EACH; ++i) {
      if (!mine(i)) continue;
      const int number = present(i, k_left);
      const T* source = number > 0 ? from(slab, i) : matrix_start;
      if (aligned) {
        copy_async<4 * WIDTH, CACHE_HINT != 0>(target + 4 * to_step(i), source, 4 * number);
      } else {
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) {
          copy_async<4, false>(target + 4 * (to_step(i) + j), source + (j < number ? j : 0),
                               j < number ? 4 : 0);
        }
      }
    }
  }

  // The register route: fetch() loads a slab's elements, put() converts them and stores them where
  // they belong.
  __device__ __forceinline__ void fetch(int slab, int k_left) {
    const bool whole = all_outer && k_left >= BLOCK_K;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const int number = whole ? WIDTH : present(i, k_left);
      if (mine(i) && (whole || (aligned && number == WIDTH))) {
        held[i] = load_chunk(from(slab, i));
      } else {
#pragma unroll
        for (int j = 0; j < WIDTH; ++j)
          held[i].at[j] = mine(i) && j < number ? from(slab, i)[j] : from_float<T>(0.0f);
      }
    }
  }
  __device__ __forceinline__ void put(float* stage) const {
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      if (!mine(i)) continue;
      float* target = stage + to + to_step(i);
      if constexpr (K_FAST) {
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) target[j * PITCH] = to_float(held[i].at[j]);
      } else {
        constexpr int PIECE = WIDTH < 4 ? WIDTH : 4;
#pragma unroll
        for (int j = 0; j < WIDTH; j += PIECE) {
          Vector<float, PIECE> piece;
#pragma unroll
          for (int l = 0; l < PIECE; ++l) piece.at[l] = to_float(held[i].at[j + l]);
          store_vector<float, PIECE>(target + j, piece);
        }
      }
    }
  }
};

using OperandA = Operand<T_A, BLOCK_M, TRANS_A == 0, RowPieces::WIDTH>;
using OperandB = Operand<T_B, BLOCK_N, TRANS_B != 0, ColumnPieces::WIDTH>;

struct Lane {
  int m, n;         // place of the lane in its warp
  int row, column;  // first row and column of the warp's tile
};
__device__ __forceinline__ Lane lane_of_thread() {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_m = WARPS_DOWN != 0 ? warp % WARPS_M : warp / WARPS_N;
  const int warp_n = WARPS_DOWN != 0 ? warp / WARPS_M : warp % WARPS_N;
  return {lane / LANES_N, lane % LANES_N, warp_m * LANES_M * THREAD_M, warp_n * LANES_N * THREAD_N};
}

// One step multiplies a column of the A slab by a row of the B slab.
struct Math {
  struct Fragments {
    float rows[THREAD_M];
    float columns[THREAD_N];
  };
  float sum[THREAD_M * THREAD_N];
  int rows_at, columns_at;  // the lane's first pieces within a stage, in bytes

  __device__ __forceinline__ explicit Math(const Lane& lane) {
    rows_at = 4 * (lane.row + RowPieces::at(0, lane.m));
    columns_at = 4 * (OperandA::FLOATS + lane.column + ColumnPieces::at(0, lane.n));
#pragma unroll
    for (int i = 0; i < THREAD_M * THREAD_N; ++i) sum[i] = 0.0f;
  }
  static constexpr int LOADS = RowPieces::COUNT + ColumnPieces::COUNT;
  __device__ __forceinline__ void load_piece(Fragments& to, const unsigned char* stage, int k,
                                             int piece) const {
    const float* rows = reinterpret_cast<const float*>(stage + rows_at) + k * OperandA::PITCH;
    const float* columns = reinterpret_cast<const float*>(stage + columns_at) + k * OperandB::PITCH;
    if (piece < RowPieces::COUNT) {
      RowPieces::load(to.rows, rows, piece, OperandA::key(k));
    } else {
      ColumnPieces::load(to.columns, columns, piece - RowPieces::COUNT, OperandB::key(k));
    }
  }
  __device__ __forceinline__ void load(Fragments& to, const unsigned char* stage, int k) const {
#pragma unroll
    for (int piece = 0; piece < LOADS; ++piece) load_piece(to, stage, k, piece);
  }
  // Multiply-adds go in runs along a row of the tile, or down a column. A run keeps one operand in
  // place, so that the register file has two to deliver, not three; in serpentine order the next
  // run starts with the other operand in place as well.
  static constexpr int RUN = COLUMN_RUNS != 0 ? THREAD_M : THREAD_N;
  __device__ __forceinline__ void multiply_one(const Fragments& from, int index) {
    const int run = index / RUN;
    const int along = SERPENTINE == 0 || run % 2 == 0 ? index % RUN : RUN - 1 - index % RUN;
    const int i = COLUMN_RUNS != 0 ? along : run;
    const int j = COLUMN_RUNS != 0 ? run : along;
    sum[i * THREAD_N + j] = fmaf(from.rows[i], from.columns[j], sum[i * THREAD_N + j]);
  }
  __device__ __forceinline__ void multiply(const Fragments& from) {
#pragma unroll
    for (int index = 0; index < THREAD_M * THREAD_N; ++index) multiply_one(from, index);
  }
  // Interleaved, the reads of the next operands are spread over the multiply-adds of these, so that
  // they do not queue up: evenly (1) or between runs (2).
  __device__ __forceinline__ void advance(Fragments& next, const unsigned char* stage, int k,
                                          const Fragments& now) {
    constexpr int SHARE = THREAD_M * THREAD_N / LOADS;
    constexpr int EVERY = INTERLEAVE == 2 && SHARE >= RUN ? SHARE / RUN * RUN : SHARE;
    if constexpr (INTERLEAVE == 0 || EVERY == 0) {
      load(next, stage, k);
      multiply(now);
    } else {
#pragma unroll
      for (int index = 0; index < THREAD_M * THREAD_N; ++index) {
        if (index % EVERY == 0 && index / EVERY < LOADS) load_piece(next, stage, k, index / EVERY);
        multiply_one(now, index);
      }
    }
  }
};

// Slabs of both operands over k_count of K.
struct Source {
  static constexpr int STAGE_BYTES = 4 * (OperandA::FLOATS + OperandB::FLOATS);
  OperandA a;
  OperandB b;
  int k_count;

  static __device__ __forceinline__ float* part_a(unsigned char* stage) {
    return reinterpret_cast<float*>(stage);
  }
  static __device__ __forceinline__ float* part_b(unsigned char* stage) {
    return part_a(stage) + OperandA::FLOATS;
  }

  __device__ __forceinline__ void start(int slab, unsigned char* stage) {
    if constexpr (OperandA::BY_ASYNC) a.copy(part_a(stage), slab, k_count - slab * BLOCK_K);
    if constexpr (OperandB::BY_ASYNC) b.copy(part_b(stage), slab, k_count - slab * BLOCK_K);
  }
  __device__ __forceinline__ void fetch(int slab) {
    if constexpr (!OperandA::BY_ASYNC) a.fetch(slab, k_count - slab * BLOCK_K);
    if constexpr (!OperandB::BY_ASYNC) b.fetch(slab, k_count - slab * BLOCK_K);
  }
  __device__ __forceinline__ void put(unsigned char* stage) {
    if constexpr (!OperandA::BY_ASYNC) a.put(part_a(stage));
    if constexpr (!OperandB::BY_ASYNC) b.put(part_b(stage));
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_simt(const T_A* A, const T_B* B, float* parts, unsigned* arrived, int m, int n, int k,
              int chunk, GRAPH_PARAMETERS) {
  extern __shared__ __align__(16) unsigned char ring[];
  const int tiles_m = (m + BLOCK_M - 1) / BLOCK_M;
  const int tiles_n = (n + BLOCK_N - 1) / BLOCK_N;
  const int tiles = tiles_m * tiles_n;
  const int batch = BATCHED != 0 ? static_cast<int>(blockIdx.x) / tiles : 0;
  const Span span{Graph::SPANS, BLOCK_M, BLOCK_N, BLOCK_K};
  const int number = static_cast<int>(blockIdx.x) - batch * tiles;
  const Tile tile = tile_at(span.grows() ? tiles - 1 - number : number, tiles_m, tiles_n, GROUP_M);
  int k_begin = SPLIT > 1 ? static_cast<int>(blockIdx.y) * chunk : 0;
  int k_end = SPLIT > 1 ? min(k, k_begin + chunk) : k;
  if constexpr (Graph::SPANS != 0) {
    int first_slab = k_begin / BLOCK_K, slabs = (k_end - k_begin + BLOCK_K - 1) / BLOCK_K;
    span.narrow(tile, first_slab, slabs);
    k_begin = first_slab * BLOCK_K;
    k_end = min(k_end, k_begin + slabs * BLOCK_K);
  }

  const Graph graph{GRAPH_ARGUMENTS};
  Source source{OperandA(A + static_cast<long long>(batch) * m * k,
                         TRANS_A == 0 ? graph.left_pitch(k) : m, tile.m * BLOCK_M, m, k_begin),
                OperandB(B + static_cast<long long>(batch) * k * n, TRANS_B == 0 ? n : k,
                         tile.n * BLOCK_N, n, k_begin),
                k_end - k_begin};
  const Lane lane = lane_of_thread();
  Math math(lane);

  walk_k<BLOCK_K, UNROLL_K == 0 ? BLOCK_K : UNROLL_K>(source, math, ring,
                                                      (k_end - k_begin + BLOCK_K - 1) / BLOCK_K);

  if constexpr (SPLIT > 1) {
    if (gridDim.y > 1) {
      const int split = static_cast<int>(gridDim.y);
      float* mine = parts + static_cast<long long>(blockIdx.x) * split * BLOCK_M * BLOCK_N;
      if (!reduce_split<THREADS>(math.sum, mine, arrived + blockIdx.x, static_cast<int>(blockIdx.y),
                                 split))
        return;
    }
  }

  const Epilogue epilogue = Epilogue(graph, m, n).of_batch(batch);
#pragma unroll
  for (int i = 0; i < THREAD_M; ++i) {
    const int row = tile.m * BLOCK_M + lane.row + RowPieces::at(i / RowPieces::WIDTH, lane.m) +
                    i % RowPieces::WIDTH;
#pragma unroll
    for (int p = 0; p < ColumnPieces::COUNT; ++p) {
      float piece[ColumnPieces::WIDTH];
#pragma unroll
      for (int j = 0; j < ColumnPieces::WIDTH; ++j)
        piece[j] = math.sum[i * THREAD_N + p * ColumnPieces::WIDTH + j];
      epilogue.store(row, tile.n * BLOCK_N + lane.column + ColumnPieces::at(p, lane.n), piece);
    }
  }
}
