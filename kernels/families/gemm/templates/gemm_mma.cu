/* cupilot tunable 2
{
  "name": "gemm_mma",
  "family": "gemm",
  "anchor": "matmul",
  "summary": "GEMM on tensor cores by mma.sync: bf16, fp16 and tf32 operands, fp32 sums",
  "provides": ["mma_core"],
  "requires": ["mma_core"],
  "when": ["elem.A == elem.B", "(class.tf32 && elem.A == 4) || ((class.bf16 || class.fp16) && elem.A == 2)"],
  "parameters": {
    "BLOCK_M": {"name": "block_m", "technique": "block_tile", "domain": [16, 32, 64, 128, 256], "plain": 64},
    "BLOCK_N": {"name": "block_n", "technique": "block_tile", "domain": [16, 32, 64, 128, 256], "plain": 64},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [8, 16, 32, 64], "plain": 32},
    "WARP_M": {"name": "warp_m", "technique": "warp_tile", "domain": [16, 32, 64, 128], "plain": 32},
    "WARP_N": {"name": "warp_n", "technique": "warp_tile", "domain": [16, 32, 64, 128], "plain": 32},
    "WARPS_DOWN": {"name": "warps_down", "technique": "warp_raster", "domain": [0, 1], "plain": 0},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "PAD": {"name": "pad", "technique": "shared_padding", "domain": [0, 4, 8, 16], "plain": 0},
    "SWIZZLE": {"name": "swizzle", "technique": "shared_swizzle", "domain": [0, 1], "plain": 0},
    "ASYNC": {"name": "async_copy", "technique": "async_copy", "domain": [0, 1], "plain": 0},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [1, 2, 3, 4, 5], "plain": 1},
    "PREFETCH": {"name": "register_prefetch", "technique": "register_prefetch", "domain": [0, 1], "plain": 0},
    "LDMATRIX": {"name": "ldmatrix", "technique": "ldmatrix", "domain": [0, 1], "plain": 0},
    "FRAGMENTS": {"name": "fragment_double_buffer", "technique": "fragment_double_buffer", "domain": [0, 1], "plain": 0},
    "INTERLEAVE": {"name": "interleaved_loads", "technique": "interleaved_loads", "domain": [0, 1], "plain": 0},
    "UNROLL_K": {"name": "unroll_k", "technique": "unroll", "domain": [0, 1, 2, 4, 8], "plain": 0},
    "SPLIT": {"name": "split", "technique": "split_k", "domain": [1, 2, 3, 4, 6, 8, 16, 32], "plain": 1},
    "GROUP_M": {"name": "group_m", "technique": "raster", "domain": [1, 2, 4, 8, 16, 32], "plain": 1},
    "SERPENTINE": {"name": "serpentine", "technique": "serpentine", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1},
    "STORE_VECTOR": {"name": "store_vector", "technique": "vector_epilogue", "domain": [1, 2, 4, 8], "plain": 1},
    "STAGED": {"name": "staged_epilogue", "technique": "staged_epilogue", "domain": [0, 1], "plain": 0},
    "STREAM_STORE": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0},
    "CACHE_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "FULL_PATH": {"name": "predicated_tail", "technique": "predicated_tail", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "registers_held": "WARP_M * WARP_N / 32 + (WARP_M / 4 + WARP_N / 4) * (1 + FRAGMENTS) + (ASYNC ? 0 : (BLOCK_M + BLOCK_N) * BLOCK_K * elem.A / 128 / (BLOCK_M / WARP_M * (BLOCK_N / WARP_N)))"
  },
  "restrict": [
    "BLOCK_M % WARP_M == 0 && BLOCK_N % WARP_N == 0",
    "BLOCK_M / WARP_M * (BLOCK_N / WARP_N) * 32 <= dev.threads",
    "BLOCK_K * elem.A % 32 == 0 && BLOCK_K * elem.A <= 256",
    "VECTOR * elem.A <= 16",
    "PAD * elem.A % 16 == 0",
    "UNROLL_K == 0 || BLOCK_K * elem.A / 32 % UNROLL_K == 0",
    "FRAGMENTS == 0 || UNROLL_K != 1 || BLOCK_K * elem.A == 32",
    "max(STAGES * ((TRANS_A ? BLOCK_K * (BLOCK_M + PAD) : BLOCK_M * (BLOCK_K + PAD)) + (TRANS_B ? BLOCK_N * (BLOCK_K + PAD) : BLOCK_K * (BLOCK_N + PAD))) * elem.A, STAGED * (BLOCK_M / WARP_M) * (BLOCK_N / WARP_N) * 16 * (WARP_N + 8) * 4) * MIN_BLOCKS + 1088 * MIN_BLOCKS <= dev.shared + 1024",
    "registers_held + (elem.A == 4 ? 56 : 40) + (LDMATRIX ? 0 : 12) <= 255",
    "(registers_held + 40) * (BLOCK_M / WARP_M) * (BLOCK_N / WARP_N) * 32 * MIN_BLOCKS <= dev.registers",
    "(BLOCK_M + BLOCK_N) * BLOCK_K <= 4096 * (BLOCK_M / WARP_M) * (BLOCK_N / WARP_N)"
  ],
  "registers": "registers_held + 40",
  "plan": {
    "let": {
      "warps": "(BLOCK_M / WARP_M) * (BLOCK_N / WARP_N)",
      "tiles": "cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)",
      "slabs": "cdiv(k, BLOCK_K)",
      "chunk": "cdiv(slabs, min(SPLIT, slabs))",
      "split": "cdiv(slabs, chunk)",
      "slab_a": "TRANS_A ? BLOCK_K * (BLOCK_M + PAD) : BLOCK_M * (BLOCK_K + PAD)",
      "slab_b": "TRANS_B ? BLOCK_N * (BLOCK_K + PAD) : BLOCK_K * (BLOCK_N + PAD)"
    },
    "buffers": [
      {"name": "parts", "bytes": "split > 1 ? batch * tiles * split * BLOCK_M * BLOCK_N * 4 : 16"},
      {"name": "arrived", "bytes": "split > 1 ? batch * tiles * 4 : 16", "content": "restored"}
    ],
    "launches": [
      {"name": "main", "entry": "gemm_mma", "grid": ["tiles * batch", "split"], "block": ["warps * 32"],
       "shared": "max(STAGES * (slab_a + slab_b) * elem.A, STAGED * warps * 16 * (WARP_N + 8) * 4)",
       "args": ["A", "B", "parts", "arrived", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "chunk * BLOCK_K"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "block_threads": "32 * warps",
      "together": "FULL_PATH && SPLIT > 1 && !CACHE_HINT",
      "fast_a": "!TRANS_A",
      "length_a": "fast_a ? BLOCK_K : BLOCK_M",
      "width_a": "min(VECTOR, length_a)",
      "async_a": "ASYNC && width_a * elem.A >= 4",
      "copies_a": "BLOCK_M * BLOCK_K / width_a",
      "line_a": "max(1, length_a / width_a)",
      "sectors_a": "max(1, 32 / line_a) * max(1, (min(32, line_a) * width_a * elem.A + 31) / 32)",
      "pitch_a": "(length_a + PAD) * elem.A",
      "keys_a": "SWIZZLE ? min(8, length_a * elem.A / 16) : 0",
      "step_a": "!fast_a && elem.A == 4 ? 16 : keys_a",
      "passes_a": "passes(cdiv(32, line_a), pitch_a, width_a * elem.A, keys_a, step_a)",
      "each_a": "cdiv(copies_a, block_threads)",
      "loading_a": "(width_a > 1 ? weight.vector_load : weight.element_load) / (together ? 2 : 1) + (width_a > 1 ? weight.vector_guard * !FULL_PATH : 0)",
      "copying_a": "copies_a * (async_a ? weight.async_copy + weight.async_guard * !FULL_PATH : loading_a)",
      "matrix_a": "LDMATRIX && (fast_a || elem.A == 2)",
      "halves_a": "!matrix_a && !fast_a && elem.A == 2",
      "words_a": "fast_a ? 4 * passes(8, pitch_a, 4, keys_a, step_a) : elem.A == 4 ? 4 * passes(4, pitch_a, 4, keys_a, step_a) : 8 * passes(4, 2 * pitch_a, 2, keys_a, 2 * keys_a)",
      "reads_a": "matrix_a ? passes(32, pitch_a, 16, keys_a, step_a) : words_a",
      "loads_a": "matrix_a ? 10 : halves_a ? 120 : 40",
      "issued_a": "matrix_a ? weight.matrix_read : halves_a ? weight.half_read : weight.word_read",
      "fast_b": "TRANS_B",
      "length_b": "fast_b ? BLOCK_K : BLOCK_N",
      "width_b": "min(VECTOR, length_b)",
      "async_b": "ASYNC && width_b * elem.A >= 4",
      "copies_b": "BLOCK_N * BLOCK_K / width_b",
      "line_b": "max(1, length_b / width_b)",
      "sectors_b": "max(1, 32 / line_b) * max(1, (min(32, line_b) * width_b * elem.A + 31) / 32)",
      "pitch_b": "(length_b + PAD) * elem.A",
      "keys_b": "SWIZZLE ? min(8, length_b * elem.A / 16) : 0",
      "step_b": "!fast_b && elem.A == 4 ? 16 : keys_b",
      "passes_b": "passes(cdiv(32, line_b), pitch_b, width_b * elem.A, keys_b, step_b)",
      "each_b": "cdiv(copies_b, block_threads)",
      "loading_b": "(width_b > 1 ? weight.vector_load : weight.element_load) / (together ? 2 : 1) + (width_b > 1 ? weight.vector_guard * !FULL_PATH : 0)",
      "copying_b": "copies_b * (async_b ? weight.async_copy + weight.async_guard * !FULL_PATH : loading_b)",
      "matrix_b": "LDMATRIX && (fast_b || elem.A == 2)",
      "halves_b": "!matrix_b && !fast_b && elem.A == 2",
      "words_b": "fast_b ? 4 * passes(8, pitch_b, 4, keys_b, step_b) : elem.A == 4 ? 4 * passes(4, pitch_b, 4, keys_b, step_b) : 8 * passes(4, 2 * pitch_b, 2, keys_b, 2 * keys_b)",
      "reads_b": "matrix_b ? passes(32, pitch_b, 16, keys_b, step_b) : words_b",
      "loads_b": "matrix_b ? 10 : halves_b ? 120 : 40",
      "issued_b": "matrix_b ? weight.matrix_read : halves_b ? weight.half_read : weight.word_read",
      "steps": "BLOCK_K * elem.A / 32",
      "parts_m": "WARP_M / 16",
      "pairs_n": "WARP_N / 16",
      "products": "2 * steps * parts_m * pairs_n",
      "rate": "elem.A == 4 ? dev.ops.tf32 : dev.ops.bf16",
      "product": "83886080 * weight.gaps / (elem.A * 1000 * (rate > 0 ? rate : weight.rate / elem.A))",
      "reads": "steps * (parts_m * reads_a + pairs_n * reads_b)",
      "loads": "steps * (parts_m * loads_a + pairs_n * loads_b)",
      "fragments": "256 * loads / 10",
      "reading": "steps * (parts_m * issued_a + pairs_n * issued_b)",
      "serial": "together ? 0 : (!async_a && width_a > 1 ? each_a : 0) + (!async_b && width_b > 1 ? each_b : 0)",
      "block_bytes": "max(STAGES * (slab_a + slab_b) * elem.A, STAGED * warps * 16 * (WARP_N + 8) * 4)",
      "read_wait": "256 * (weight.fragment_latency * steps + reads)",
      "multiply": "256 * weight.mma_latency * steps + products * product / 2",
      "own": "(FRAGMENTS ? max(read_wait, multiply) : read_wait + multiply) + 256 * weight.barrier * (STAGES > 1 ? 1 : 2) + 256 * weight.load_wait * loads / 100 + 256 * weight.fetch_wait * fetched + 256 * weight.copy_wait * started",
      "held": "(async_a ? 0 : each_a * max(1, width_a * elem.A / 4)) + (async_b ? 0 : each_b * max(1, width_b * elem.A / 4))",
      "fetched": "(async_a ? 0 : each_a) + (async_b ? 0 : each_b)",
      "started": "(async_a ? each_a : 0) + (async_b ? each_b : 0)",
      "limit": "min(255 * 256, dev.registers * 256 / (block_threads * MIN_BLOCKS))",
      "wanted": "256 * weight.registers + 8 * WARP_M * WARP_N + (WARP_M + WARP_N) * (100 + weight.double_fragments * FRAGMENTS) * 256 * weight.fragment_registers / 100000 + 256 * (weight.held_registers + weight.prefetch_registers * PREFETCH) * held / 100 - 256 * weight.fetch_registers * fetched / 100 + 256 * weight.copy_registers * started / 100 + (SPLIT > 1 ? 256 * weight.split_registers : 0) - 256 * weight.ldmatrix_registers * LDMATRIX + 256 * weight.swizzle_registers * SWIZZLE - 256 * weight.whole_registers * FULL_PATH / 100",
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
    "rounds": "256 * chunk",
    "math": "warps * products * product / 4",
    "issue": "(warps * (weight.product * products + reading + weight.step * steps + weight.slab) * 320 + copying_a + copying_b) * weight.issue / 5000",
    "shared": "256 * warps * reads + 8 * (copies_a * (passes_a + 1) + copies_b * (passes_b + 1)) + spill_bytes / 128",
    "fill": "moved / weight.fill_bytes",
    "chain": "own + moved / weight.fill_bytes / 2",
    "latency": "waits",
    "ends": "each_sm * (65536 * weight.end / active + 256 * BLOCK_M * BLOCK_N / weight.store_rate)",
    "start": "256 * weight.end + (split > 1 ? 256 * weight.join + each_sm * BLOCK_M * BLOCK_N * 262144 / weight.join_bytes / min(active, 512) : 0)",
    "l2": "dealt * chunk * moved / 256 + outputs + parts_bytes",
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
// A block computes a BLOCK_M x BLOCK_N tile of D, each warp a WARP_M x WARP_N part of it, by 16 x 8
// matrix multiply-adds on tensor cores. Slabs of BLOCK_K of A and B come to shared memory in the
// order they have in global memory; the fragments that the tensor core wants are cut from there.
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/pipeline.cuh"
#include "cupilot/mma.cuh"
#include "cupilot/raster.cuh"
#include "cupilot/split_k.cuh"
#include "cupilot/epilogue.cuh"

constexpr int WARPS_M = BLOCK_M / WARP_M;
constexpr int WARPS_N = BLOCK_N / WARP_N;
constexpr int THREADS = WARPS_M * WARPS_N * 32;
#include "cupilot/operand_copy.cuh"

constexpr int ELEMENT = static_cast<int>(sizeof(T_A));  // bytes
constexpr int HALF_K = 16 / ELEMENT;                    // elements of K in a 16-byte half of a step
constexpr int STEP_K = 2 * HALF_K;                      // elements of K in one multiply-add
constexpr int STEPS = BLOCK_K / STEP_K;
constexpr int SUBS_M = WARP_M / 16;  // 16-row parts of a warp's tile
constexpr int SUBS_N = WARP_N / 8;   // 8-column parts

// One operand's way to shared memory: its slabs keep the order of global memory.
template <int LINE>
constexpr int copy_width = VECTOR < LINE ? VECTOR : LINE;  // elements a copy moves
template <class T, int OUTER, bool K_FAST,
          class Copy = OperandCopy<T, OUTER, K_FAST, copy_width<(K_FAST ? BLOCK_K : OUTER)>>>
struct Operand : Copy {
  static constexpr int LINE = K_FAST ? BLOCK_K : OUTER;  // adjacent elements of a slab
  static constexpr int LINES = K_FAST ? OUTER : BLOCK_K;
  static constexpr int PITCH = (LINE + PAD) * ELEMENT;  // bytes
  static constexpr int BYTES = PITCH * LINES;
  static constexpr int WIDTH = copy_width<LINE>;
  static constexpr bool BY_ASYNC = ASYNC != 0 && WIDTH * ELEMENT >= 4;
  using Copy::EACH, Copy::TAIL_UNROLL, Copy::PER_LINE;
  using Copy::from, Copy::mine, Copy::present, Copy::place, Copy::load_chunk;
  using Copy::o, Copy::k, Copy::aligned, Copy::all_outer, Copy::matrix_start;
  // True if fragments are read as 8 x 16-byte matrices; tf32 cannot be transposed on the way.
  static constexpr bool BY_MATRIX = LDMATRIX != 0 && (K_FAST || ELEMENT == 2);

  // Place of an element in the slab, in bytes. Swizzled, the 16-byte units of a line are permuted
  // by an exclusive or with a key of the line, so that lines read together lie in different banks:
  // 8 lines of one unit for matrix loads, 4 lines of two units for the single words of a tf32 slab
  // whose lines run along o.
  static __device__ __forceinline__ int offset(int o, int k) {
    const int line = K_FAST ? o : k;
    const int byte = (K_FAST ? k : o) * ELEMENT;
    if constexpr (SWIZZLE == 0) return line * PITCH + byte;
    constexpr int UNITS = LINE * ELEMENT / 16;
    constexpr int POWER = UNITS & -UNITS;
    constexpr int KEYS = POWER < 8 ? POWER : 8;
    const int key = !K_FAST && ELEMENT == 4 ? line * 2 % KEYS : line / (8 / KEYS) % KEYS;
    return line * PITCH + (((byte / 16) ^ key) * 16 | byte % 16);
  }

  Vector<T, WIDTH> held[BY_ASYNC ? 1 : EACH];  // a slab on its way by registers
  using Copy::Copy;

  // Place in shared memory of this thread's i-th copy of a slab.
  __device__ __forceinline__ int to(int i) const {
    constexpr int STEP_LINES =
        THREADS / PER_LINE;  // lines between copies; the key of a line repeats every 8 lines
    const auto step = place(i * THREADS);
    if constexpr (THREADS % PER_LINE == 0 && STEP_LINES % 8 == 0)
      return offset(o, k) + i * STEP_LINES * PITCH;
    return offset(o + step.o, k + step.k);
  }
  __device__ __forceinline__ Vector<T, WIDTH> gather(int slab, int i, int number) const {
    if (aligned && number == WIDTH) return load_chunk(from(slab, i));
    Vector<T, WIDTH> result;
#pragma unroll
    for (int j = 0; j < WIDTH; ++j)
      result.at[j] = j < number ? from(slab, i)[j] : from_float<T>(0.0f);
    return result;
  }

  // Starts the copies of a slab straight into shared memory.
  __device__ __forceinline__ void copy(unsigned char* stage, int slab, int k_left) const {
    constexpr bool HINT = CACHE_HINT != 0;
    const unsigned target = shared_address(stage);
    if (all_outer && k_left >= BLOCK_K) {
#pragma unroll
      for (int i = 0; i < EACH; ++i) {
        if (mine(i)) copy_async<WIDTH * ELEMENT, HINT>(target + to(i), from(slab, i));
      }
      return;
    }
#pragma unroll TAIL_UNROLL
    for (int i = 0; i < EACH; ++i) {
      if (!mine(i)) continue;
      const int number = present(i, k_left);
      if (aligned) {
        copy_async<WIDTH * ELEMENT, HINT>(target + to(i), number > 0 ? from(slab, i) : matrix_start,
                                          number * ELEMENT);
      } else {
        store_vector<T, WIDTH>(reinterpret_cast<T*>(stage + to(i)), gather(slab, i, number));
      }
    }
  }

  // The register route: fetch() loads a slab's elements, put() stores them where they belong.
  __device__ __forceinline__ void fetch(int slab, int k_left) {
    const bool whole = all_outer && k_left >= BLOCK_K;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      if (mine(i)) held[i] = gather(slab, i, whole ? WIDTH : present(i, k_left));
    }
  }
  __device__ __forceinline__ void put(unsigned char* stage) const {
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      if (mine(i)) store_vector<T, WIDTH>(reinterpret_cast<T*>(stage + to(i)), held[i]);
    }
  }

  // The 4 bytes of K at (o, k): two 16-bit elements or one of 32 bits.
  static __device__ __forceinline__ unsigned word(const unsigned char* slab, int o, int k) {
    if constexpr (K_FAST || ELEMENT == 4) {
      return *reinterpret_cast<const unsigned*>(slab + offset(o, k));
    } else {
      const unsigned low = *reinterpret_cast<const unsigned short*>(slab + offset(o, k));
      const unsigned high = *reinterpret_cast<const unsigned short*>(slab + offset(o, k + 1));
      return low | high << 16;
    }
  }
};

using OperandA = Operand<T_A, BLOCK_M, TRANS_A == 0>;
using OperandB = Operand<T_B, BLOCK_N, TRANS_B != 0>;

// One step multiplies STEP_K of K: all 16 x 8 parts of the warp's tile.
struct Math {
  struct Fragments {
    unsigned a[SUBS_M][4];
    unsigned b[SUBS_N][2];
  };
  float sum[SUBS_M][SUBS_N][4];
  int lane;
  int row, column;  // first row and column of the warp's tile in the block's

  static constexpr int LOADS = SUBS_M + SUBS_N / 2;
  __device__ __forceinline__ void load_piece(Fragments& to, const unsigned char* stage, int step,
                                             int piece) const {
    if (piece < SUBS_M) {
      load_a(to.a[piece], stage, row + piece * 16, step * STEP_K);
    } else {
      const int j = (piece - SUBS_M) * 2;
      load_b(to.b[j], to.b[j + 1], stage + OperandA::BYTES, column + j * 8, step * STEP_K);
    }
  }
  __device__ __forceinline__ void load(Fragments& to, const unsigned char* stage, int step) const {
#pragma unroll
    for (int piece = 0; piece < LOADS; ++piece) load_piece(to, stage, step, piece);
  }
  __device__ __forceinline__ void load_a(unsigned (&to)[4], const unsigned char* slab, int o,
                                         int k) const {
    if constexpr (OperandA::BY_MATRIX && TRANS_A == 0) {
      load_matrices(to,
                    shared_address(slab + OperandA::offset(o + lane % 16, k + lane / 16 * HALF_K)));
    } else if constexpr (OperandA::BY_MATRIX) {
      load_matrices_transposed(
          to, shared_address(slab +
                             OperandA::offset(o + lane / 8 % 2 * 8, k + lane % 8 + lane / 16 * 8)));
    } else {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        to[r] = OperandA::word(slab, o + lane / 4 + r % 2 * 8,
                               k + lane % 4 * (4 / ELEMENT) + r / 2 * HALF_K);
      }
    }
  }
  // Two neighbouring 8-column parts at once: four matrices fill one load.
  __device__ __forceinline__ void load_b(unsigned (&left)[2], unsigned (&right)[2],
                                         const unsigned char* slab, int o, int k) const {
    if constexpr (OperandB::BY_MATRIX) {
      unsigned four[4];
      if constexpr (TRANS_B != 0) {
        load_matrices(four, shared_address(slab + OperandB::offset(o + lane % 8 + lane / 16 * 8,
                                                                   k + lane / 8 % 2 * HALF_K)));
      } else {
        load_matrices_transposed(
            four, shared_address(slab + OperandB::offset(o + lane / 16 * 8, k + lane % 16)));
      }
      left[0] = four[0], left[1] = four[1], right[0] = four[2], right[1] = four[3];
    } else {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int at = k + lane % 4 * (4 / ELEMENT) + r * HALF_K;
        left[r] = OperandB::word(slab, o + lane / 4, at);
        right[r] = OperandB::word(slab, o + 8 + lane / 4, at);
      }
    }
  }
  // The fragments as the tensor core wants them. Rounding waits until they are used: it must not
  // wait for their loads.
  static __device__ __forceinline__ void round_fragments(Fragments& set) {
    if constexpr (ELEMENT == 4) {
#pragma unroll
      for (int i = 0; i < SUBS_M * 4; ++i) set.a[i / 4][i % 4] = round_to_tf32(set.a[i / 4][i % 4]);
#pragma unroll
      for (int j = 0; j < SUBS_N * 2; ++j) set.b[j / 2][j % 2] = round_to_tf32(set.b[j / 2][j % 2]);
    }
  }
  // In serpentine order each multiply-add shares an operand with the one before, also from row to
  // row.
  __device__ __forceinline__ void multiply_one(const Fragments& from, int index) {
    const int i = index / SUBS_N;
    const int j = SERPENTINE == 0 || i % 2 == 0 ? index % SUBS_N : SUBS_N - 1 - index % SUBS_N;
    multiply_add<T_A>(sum[i][j], from.a[i], from.b[j]);
  }
  __device__ __forceinline__ void multiply(Fragments& from) {
    round_fragments(from);
#pragma unroll
    for (int index = 0; index < SUBS_M * SUBS_N; ++index) multiply_one(from, index);
  }
  // Interleaved, the reads of the next operands are spread over the multiply-adds of these, so that
  // they do not queue up.
  __device__ __forceinline__ void advance(Fragments& next, const unsigned char* stage, int step,
                                          Fragments& now) {
    constexpr int EVERY = SUBS_M * SUBS_N / LOADS;
    if constexpr (INTERLEAVE == 0 || EVERY == 0) {
      load(next, stage, step);
      multiply(now);
    } else {
      round_fragments(now);
#pragma unroll
      for (int index = 0; index < SUBS_M * SUBS_N; ++index) {
        if (index % EVERY == 0 && index / EVERY < LOADS)
          load_piece(next, stage, step, index / EVERY);
        multiply_one(now, index);
      }
    }
  }
};

// Slabs of both operands over k_count of K.
struct Source {
  static constexpr int STAGE_BYTES = OperandA::BYTES + OperandB::BYTES;
  OperandA a;
  OperandB b;
  int k_count;

  __device__ __forceinline__ void start(int slab, unsigned char* stage) {
    if constexpr (OperandA::BY_ASYNC) a.copy(stage, slab, k_count - slab * BLOCK_K);
    if constexpr (OperandB::BY_ASYNC)
      b.copy(stage + OperandA::BYTES, slab, k_count - slab * BLOCK_K);
  }
  __device__ __forceinline__ void fetch(int slab) {
    if constexpr (!OperandA::BY_ASYNC) a.fetch(slab, k_count - slab * BLOCK_K);
    if constexpr (!OperandB::BY_ASYNC) b.fetch(slab, k_count - slab * BLOCK_K);
  }
  __device__ __forceinline__ void put(unsigned char* stage) {
    if constexpr (!OperandA::BY_ASYNC) a.put(stage);
    if constexpr (!OperandB::BY_ASYNC) b.put(stage + OperandA::BYTES);
  }
};

// Stores the sums as the tensor core left them: two neighbours of a row a lane.
__device__ __forceinline__ void store_direct(const Math& math, const Epilogue& epilogue, int row,
                                             int column) {
#pragma unroll
  for (int i = 0; i < SUBS_M; ++i) {
#pragma unroll
    for (int j = 0; j < SUBS_N; ++j) {
      const float(&s)[4] = math.sum[i][j];
      const float upper[2] = {s[0], s[1]};
      const float lower[2] = {s[2], s[3]};
      const int at = column + j * 8 + math.lane % 4 * 2;
      epilogue.store(row + i * 16 + math.lane / 4, at, upper);
      epilogue.store(row + i * 16 + math.lane / 4 + 8, at, lower);
    }
  }
}

// Passes 16 rows at a time through the warp's own part of shared memory, so that a lane stores long
// pieces and neighbouring lanes neighbouring pieces. A pitch of 8 floats beyond a multiple of 32
// keeps the writes free of bank conflicts.
__device__ __forceinline__ void store_staged(const Math& math, const Epilogue& epilogue, int row,
                                             int column, float* strip) {
  constexpr int PITCH = WARP_N + 8;
  constexpr int WIDTH = 16 / static_cast<int>(sizeof(T_D)) < 8 ? 4 : 8;  // elements a lane stores
  constexpr int PER_ROW = WARP_N / WIDTH;
#pragma unroll
  for (int i = 0; i < SUBS_M; ++i) {
    __syncwarp();  // the strip has been read
#pragma unroll
    for (int j = 0; j < SUBS_N; ++j) {
      const float(&s)[4] = math.sum[i][j];
      float* to = strip + math.lane / 4 * PITCH + j * 8 + math.lane % 4 * 2;
      store_vector<float, 2>(to, {s[0], s[1]});
      store_vector<float, 2>(to + 8 * PITCH, {s[2], s[3]});
    }
    __syncwarp();
#pragma unroll 1
    for (int piece = 0; piece < 16 * PER_ROW / 32; ++piece) {
      const int index = piece * 32 + math.lane;
      const int r = index / PER_ROW;
      const int c = index % PER_ROW * WIDTH;
      float out[WIDTH];
#pragma unroll
      for (int first = 0; first < WIDTH; first += 4) {
        const Vector<float, 4> part = load_vector<float, 4>(strip + r * PITCH + c + first);
#pragma unroll
        for (int l = 0; l < 4; ++l) out[first + l] = part.at[l];
      }
      epilogue.store(row + i * 16 + r, column + c, out);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_mma(const T_A* A, const T_B* B, float* parts, unsigned* arrived, int m, int n, int k,
             int chunk, GRAPH_PARAMETERS) {
  extern __shared__ __align__(128) unsigned char ring[];
  const int tiles_m = (m + BLOCK_M - 1) / BLOCK_M;
  const int tiles_n = (n + BLOCK_N - 1) / BLOCK_N;
  const int tiles = tiles_m * tiles_n;
  const int batch = BATCHED != 0 ? static_cast<int>(blockIdx.x) / tiles : 0;
  const Tile tile =
      tile_at(static_cast<int>(blockIdx.x) - batch * tiles, tiles_m, tiles_n, GROUP_M);
  const int k_begin = SPLIT > 1 ? static_cast<int>(blockIdx.y) * chunk : 0;
  const int k_end = SPLIT > 1 ? min(k, k_begin + chunk) : k;

  const Graph graph{GRAPH_ARGUMENTS};
  Source source{OperandA(A + static_cast<long long>(batch) * m * k,
                         TRANS_A == 0 ? graph.left_pitch(k) : m, tile.m * BLOCK_M, m, k_begin),
                OperandB(B + static_cast<long long>(batch) * k * n, TRANS_B == 0 ? n : k,
                         tile.n * BLOCK_N, n, k_begin),
                k_end - k_begin};
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Math math;
  math.lane = static_cast<int>(threadIdx.x) % 32;
  math.row = (WARPS_DOWN != 0 ? warp % WARPS_M : warp / WARPS_N) * WARP_M;
  math.column = (WARPS_DOWN != 0 ? warp / WARPS_M : warp % WARPS_N) * WARP_N;
#pragma unroll
  for (int i = 0; i < SUBS_M * SUBS_N * 4; ++i)
    math.sum[i / 4 / SUBS_N][i / 4 % SUBS_N][i % 4] = 0.0f;

  walk_k<STEPS, UNROLL_K == 0 ? STEPS : UNROLL_K>(source, math, ring,
                                                  (k_end - k_begin + BLOCK_K - 1) / BLOCK_K);

  if constexpr (SPLIT > 1) {
    if (gridDim.y > 1) {
      const int split = static_cast<int>(gridDim.y);
      float* mine = parts + static_cast<long long>(blockIdx.x) * split * BLOCK_M * BLOCK_N;
      float(&flat)[SUBS_M * SUBS_N * 4] = reinterpret_cast<float(&)[SUBS_M * SUBS_N * 4]>(math.sum);
      if (!reduce_split<THREADS>(flat, mine, arrived + blockIdx.x, static_cast<int>(blockIdx.y),
                                 split))
        return;
    }
  }

  const Epilogue epilogue = Epilogue(graph, m, n).of_batch(batch);
  const int row = tile.m * BLOCK_M + math.row;
  const int column = tile.n * BLOCK_N + math.column;
  if constexpr (STAGED != 0) {
    __syncthreads();  // the ring has been read; its memory now stages the output
    store_staged(math, epilogue, row, column,
                 reinterpret_cast<float*>(ring) + warp * 16 * (WARP_N + 8));
  } else {
    store_direct(math, epilogue, row, column);
  }
}
