/* cupilot tunable 2
{
  "name": "gemm_skinny",
  "family": "gemm",
  "anchor": "matmul",
  "summary": "GEMM of few rows: B streams once from memory into the registers that multiply it; bf16 and fp16 by mma.sync, fp32 by fma",
  "provides": ["gemv"],
  "requires": ["gemv"],
  "when": ["elem.A == elem.B", "(class.bf16 || class.fp16) && elem.A == 2 || class.fp32_strict && elem.A == 4"],
  "parameters": {
    "TILE_M": {"name": "rows", "technique": "gemv", "domain": [1, 2, 4, 8, 16, 24, 32, 48, 64], "plain": 8},
    "WARP_N": {"name": "columns", "technique": "gemv", "domain": [16, 32, 64], "plain": 32},
    "WARPS": {"name": "warps", "technique": "gemv", "domain": [1, 2, 4, 8, 12, 16, 24, 32], "plain": 8},
    "DEPTH": {"name": "depth", "technique": "gemv", "domain": [1, 2, 3, 4, 6, 8], "plain": 2},
    "SPLIT": {"name": "split", "technique": "gemv", "domain": [1, 2, 3, 4, 6, 8, 16, 32], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1}
  },
  "let": {
    "registers_held": "DEPTH * (WARP_N / 2 + (elem.A == 2 ? TILE_M / 2 : TILE_M * 4)) + WARP_N * TILE_M / (elem.A == 2 ? 32 : 8)"
  },
  "restrict": [
    "elem.A == 2 ? TILE_M % 8 == 0 : TILE_M <= 8",
    "TRANS_B || WARP_N / 8 * elem.A <= 16",
    "WARPS * 32 * MIN_BLOCKS <= 2048",
    "WARPS * TILE_M * (WARP_N + 4) * 4 * MIN_BLOCKS <= dev.shared",
    "registers_held + 32 <= 255",
    "(registers_held + 24) * WARPS * 32 * MIN_BLOCKS <= dev.registers"
  ],
  "registers": "registers_held + 24",
  "plan": {
    "require": ["m <= 128", "TRANS_A && !TRANS_B || k * elem.A % 16 == 0", "TRANS_B || n % (WARP_N / 8) == 0"],
    "let": {
      "tiles": "cdiv(m, TILE_M) * cdiv(n, WARP_N)",
      "step_k": "64 / elem.A",
      "steps": "cdiv(k, step_k)",
      "chunk": "cdiv(steps, min(SPLIT, steps))",
      "split": "cdiv(steps, chunk)",
      "each": "cdiv(TILE_M * WARP_N, WARPS * 64) * 2"
    },
    "buffers": [
      {"name": "parts", "bytes": "split > 1 ? batch * tiles * split * each * WARPS * 128 : 16"},
      {"name": "arrived", "bytes": "split > 1 ? batch * tiles * 4 : 16", "content": "restored"}
    ],
    "launches": [
      {"name": "main", "entry": "gemm_skinny", "grid": ["tiles * batch", "split"], "block": ["WARPS * 32"],
       "shared": "WARPS * TILE_M * (WARP_N + 4) * 4",
       "args": ["A", "B", "parts", "arrived", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "chunk * step_k"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "block_k": "step_k * WARPS",
      "rounds_all": "cdiv(k, block_k)",
      "rounds_each": "cdiv(rounds_all, min(SPLIT, rounds_all))",
      "parts": "cdiv(rounds_all, rounds_each)",
      "wanted": "256 * weight.registers + 128 * DEPTH * (WARP_N + TILE_M) + 8 * WARP_N * TILE_M",
      "limit": "MIN_BLOCKS > 1 ? 524288 / (WARPS * MIN_BLOCKS) : wanted",
      "dealt": "tiles * batch * parts",
      "slab_bytes": "(TILE_M + WARP_N) * block_k * elem.A",
      "each_sm": "cdiv(dealt, dev.sms)",
      "parts_bytes": "parts > 1 ? 8 * dealt * TILE_M * WARP_N : 0",
      "outputs": "m * n * batch * elem.D",
      "tiles_down": "cdiv(m, TILE_M)",
      "tiles_across": "cdiv(n, WARP_N)",
      "wave": "min(dev.sms * model.resident, tiles_down * tiles_across)",
      "band": "min(1, tiles_down)",
      "all_across": "wave > band * tiles_across",
      "rows_asked": "all_across ? min(256 * tiles_down, 256 * wave / tiles_across) : 256 * min(band, wave)",
      "columns_asked": "all_across ? 256 * tiles_across : min(256 * tiles_across, max(256, 256 * wave / band))",
      "asked": "(rows_asked * TILE_M + columns_asked * WARP_N) * (tiles_down * tiles_across) / wave",
      "once": "(m + n) * k * elem.A * batch",
      "operands": "2 * once < dev.l2 ? once : max(once, asked * k * elem.A / 256 * batch)",
      "mma_cycles": "TILE_M * WARP_N * block_k * 51200 / (4096 * weight.mma_percent)"
    },
    "blocks": "dealt",
    "threads": "32 * WARPS",
    "registers": "min(wanted, limit) / 256",
    "shared_bytes": "WARPS * TILE_M * (WARP_N + 4) * 4",
    "rounds": "256 * rounds_each",
    "math": "mma_cycles",
    "issue": "4 * mma_cycles + (TILE_M + WARP_N) * block_k * elem.A / 2",
    "shared": "256",
    "fill": "256 * slab_bytes / weight.fill_bytes",
    "chain": "256 * weight.round",
    "latency": "256 * weight.latency + 256 * slab_bytes / weight.fill_bytes",
    "ahead": "DEPTH",
    "ends": "each_sm * WARPS * TILE_M * WARP_N * 256 / weight.store_rate",
    "start": "256 * weight.latency + (parts > 1 ? 256 * weight.join + each_sm * TILE_M * WARP_N * 1024 / weight.join_bytes : 0)",
    "l2": "dealt * rounds_each * slab_bytes + outputs + parts_bytes",
    "dram": "operands + outputs + (2 * parts_bytes > dev.l2 ? parts_bytes : 0)",
    "traits": {
      "split": "256 * parts"
    }
  }
}
*/
// With few rows the time is that of reading B once, so all that counts is to have enough of it
// under way. A block computes TILE_M x WARP_N of D. Its warps deal the steps of K among themselves;
// each keeps DEPTH steps of B, and of the rows of A that go with them, on their way into registers,
// which are multiplied as they arrive. In the end the block adds its warps' sums.
#include "cupilot/vector.cuh"
#include "cupilot/mma.cuh"
#include "cupilot/split_k.cuh"

constexpr int STORE_VECTOR = 2;
constexpr int STREAM_STORE = 0;
#include "cupilot/epilogue.cuh"

constexpr int ELEMENT = static_cast<int>(sizeof(T_A));  // bytes
constexpr bool TENSOR = ELEMENT == 2;
constexpr int RUN = 16 / ELEMENT;                   // neighbours along K that a lane owns
constexpr int STEP_K = 4 * RUN;                     // of a warp
constexpr int PER = WARP_N / 8;                     // neighbouring columns that a lane owns
constexpr int ROWS = TENSOR ? TILE_M / 8 : TILE_M;  // rows of A of which a lane holds a run
constexpr int PITCH =
    WARP_N + 4;  // floats between rows of sums in shared memory, spread over the banks
constexpr int THREADS = WARPS * 32;
#include "cupilot/skinny.cuh"

// Operands of a lane: its elements of B, and of the rows of A that belong to them.
struct Lane {
  const T_A* a;  // the matrices
  const T_B* b;
  int m, n, k;      // sizes
  int pitch_a;      // elements from row to row of A
  int end;          // of this block's share of K
  int row, column;  // its first of each
  int run;          // its first element of K within a step

  static constexpr int WIDTH = TRANS_B != 0 ? 4 : PER * ELEMENT / 4;  // words a load of B

  // The step that starts at `first` of K. What lies outside is zero, in both operands.
  __device__ __forceinline__ void load(Step& step, int first) const {
    const int from = first + run;
    if constexpr (TRANS_B != 0) {
#pragma unroll
      for (int c = 0; c < PER; ++c) {
        const bool inside = from < end && column + c < n;
        load_words<4>(step.b + c * 4, b + static_cast<long long>(column + c) * k + from, inside);
      }
    } else {
#pragma unroll
      for (int r = 0; r < RUN; ++r) {
        const bool inside = from + r < end && column < n;
        load_words<WIDTH>(step.b + r * WIDTH, b + static_cast<long long>(from + r) * n + column,
                          inside);
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) load_row(step.a[i], TENSOR ? row + i * 8 : row + i, from);
  }

  // RUN neighbours along K of one row of A.
  __device__ __forceinline__ void load_row(unsigned (&to)[4], int at, int from) const {
    if constexpr (TRANS_A == 0) {
      load_words<4>(to, a + static_cast<long long>(at) * pitch_a + from, at < m && from < end);
    } else {
      Vector<T_A, RUN> run_of_row{};
#pragma unroll
      for (int r = 0; r < RUN; ++r) {
        if (at < m && from + r < end)
          run_of_row.at[r] = a[static_cast<long long>(from + r) * m + at];
      }
#pragma unroll
      for (int w = 0; w < 4; ++w) to[w] = reinterpret_cast<const unsigned*>(&run_of_row)[w];
    }
  }
};

// Adds the products of steps `step`, `step` + WARPS, ... before `end`. A step's registers are
// filled again as soon as it is multiplied, so DEPTH steps are always under way; those past the end
// are zeros that nobody reads from memory.
template <class Sums>
__device__ __forceinline__ void multiply_steps(const Lane& lane, Sums& sums, int step, int end) {
  Step held[DEPTH];
#pragma unroll
  for (int d = 0; d < DEPTH; ++d) lane.load(held[d], (step + d * WARPS) * STEP_K);
#pragma unroll 1
  for (; step < end; step += DEPTH * WARPS) {
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      sums.add(held[d]);
      lane.load(held[d], (step + (d + DEPTH) * WARPS) * STEP_K);
    }
  }
}

// Pairs of neighbouring columns of the block's tile, dealt to its threads in turn.
constexpr int PAIRS = TILE_M * WARP_N / 2;
constexpr int EACH = (PAIRS + THREADS - 1) / THREADS;
struct Pair {
  int row, column;
  __device__ __forceinline__ explicit Pair(int i) {
    const int pair = static_cast<int>(threadIdx.x) + i * THREADS;
    row = pair / (WARP_N / 2);
    column = pair % (WARP_N / 2) * 2;
  }
  __device__ __forceinline__ bool exists() const { return PAIRS % THREADS == 0 || row < TILE_M; }
};

// Adds the tiles that the warps have left in shared memory, in their order.
__device__ __forceinline__ void add_warps(float (&sum)[EACH * 2], const float* tiles) {
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const Pair pair(i);
    if (!pair.exists()) continue;
    const float* from = tiles + pair.row * PITCH + pair.column;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
      const float2 part = *reinterpret_cast<const float2*>(from + w * TILE_M * PITCH);
      sum[i * 2] += part.x;
      sum[i * 2 + 1] += part.y;
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_skinny(const T_A* A, const T_B* B, float* parts, unsigned* arrived, int m, int n, int k,
                int chunk, GRAPH_PARAMETERS) {
  extern __shared__ __align__(16) float tiles[];  // one of each warp
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Blocks that read the same columns of B are neighbours.
  const int rows_of_tiles = (m + TILE_M - 1) / TILE_M;
  const int per_matrix = rows_of_tiles * ((n + WARP_N - 1) / WARP_N);
  const int matrix = BATCHED != 0 ? static_cast<int>(blockIdx.x) / per_matrix : 0;
  const int tile = static_cast<int>(blockIdx.x) - matrix * per_matrix;
  const int top = tile % rows_of_tiles * TILE_M;
  const int left = tile / rows_of_tiles * WARP_N;
  const int first = SPLIT > 1 ? static_cast<int>(blockIdx.y) * chunk : 0;
  const int last = SPLIT > 1 ? min(first + chunk, k) : k;

  const Graph graph{GRAPH_ARGUMENTS};
  const Lane own{A + static_cast<long long>(matrix) * m * k,
                 B + static_cast<long long>(matrix) * n * k,
                 m,
                 n,
                 k,
                 graph.left_pitch(k),
                 last,
                 top + (TENSOR ? lane / 4 : 0),
                 left + lane / 4 * PER,
                 lane % 4 * RUN};
  Sums<TENSOR> sums;
  multiply_steps(own, sums, first / STEP_K + warp, (last + STEP_K - 1) / STEP_K);
  sums.leave(tiles + warp * TILE_M * PITCH, lane);
  __syncthreads();

  float sum[EACH * 2] = {};
  add_warps(sum, tiles);
  if constexpr (SPLIT > 1) {
    const int split = static_cast<int>(gridDim.y);
    float* own_parts = parts + static_cast<long long>(blockIdx.x) * split * EACH * 2 * THREADS;
    if (split > 1 && !reduce_split<THREADS>(sum, own_parts, arrived + blockIdx.x,
                                            static_cast<int>(blockIdx.y), split))
      return;
  }
  const Epilogue epilogue = Epilogue(graph, m, n).of_batch(matrix);
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const Pair pair(i);
    if (pair.exists())
      epilogue.store(top + pair.row, left + pair.column, {sum[i * 2], sum[i * 2 + 1]});
  }
}
