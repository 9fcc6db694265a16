/* cupilot tunable 2
{
  "name": "attention_mma",
  "family": "attention",
  "anchor": "weighted",
  "summary": "attention in three launches: scores and results as products on tensor cores by tf32x3, weights of a row by a warp between them",
  "provides": ["mma_core", "async_copy", "ldmatrix", "accumulator_flush"],
  "requires": ["mma_core"],
  "when": ["elem.q == 4 && elem.k == 4 && elem.v == 4 && elem.y == 4", "class.fp32_emulated", "CAUSAL == 0 || CAUSAL == 1"],
  "parameters": {
    "BLOCK_M": {"name": "block_m", "technique": "block_tile", "domain": [32, 64, 128, 256], "plain": 64},
    "BLOCK_N": {"name": "block_n", "technique": "block_tile", "domain": [32, 64, 128, 256], "plain": 64},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [8, 16, 32], "plain": 16},
    "WARP_M": {"name": "warp_m", "technique": "warp_tile", "domain": [16, 32, 64], "plain": 32},
    "WARP_N": {"name": "warp_n", "technique": "warp_tile", "domain": [16, 32, 64], "plain": 32},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4], "plain": 1},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4], "plain": 2},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1}
  },
  "let": {
    "warps": "(BLOCK_M / WARP_M) * (BLOCK_N / WARP_N)",
    "registers_held": "WARP_M * WARP_N / 32 + WARP_M + WARP_M / 2 + 40",
    "stage": "BLOCK_M * (BLOCK_K + 4) + max(BLOCK_N * (BLOCK_K + 4), BLOCK_K * (BLOCK_N + 8))",
    "shared": "STAGES * stage * 4"
  },
  "restrict": [
    "WARP_M <= BLOCK_M && WARP_N <= BLOCK_N",
    "warps >= 2 && warps <= 16",
    "registers_held <= 248",
    "registers_held * warps * 32 * MIN_BLOCKS <= dev.registers",
    "(shared + 1024) * MIN_BLOCKS <= dev.shared + 1024",
    "(BLOCK_M + BLOCK_N) * BLOCK_K <= 2048 * warps"
  ],
  "registers": "registers_held",
  "plan": {
    "require": ["width % VECTOR == 0 && out % VECTOR == 0"],
    "let": {
      "pitch": "up(keys, 4)",
      "tiles_down": "cdiv(queries, BLOCK_M)",
      "score_tiles": "tiles_down * cdiv(keys, BLOCK_N)",
      "value_tiles": "tiles_down * cdiv(out, BLOCK_N)"
    },
    "buffers": [{"name": "scores", "bytes": "batch * queries * pitch * 4"}],
    "launches": [
      {"name": "scores", "entry": "attention_scores", "grid": ["batch * score_tiles"], "block": ["warps * 32"], "shared": "shared",
       "args": ["q", "k", "scores", {"i32": "queries"}, {"i32": "keys"}, {"i32": "width"}, {"i32": "pitch"}]},
      {"name": "weights", "entry": "attention_weights", "grid": ["cdiv(batch * queries, 8)"], "block": [256],
       "args": ["scores", {"i64": "batch * queries"}, {"i32": "queries"}, {"i32": "keys"}, {"i32": "pitch"}]},
      {"name": "values", "entry": "attention_values", "grid": ["batch * value_tiles"], "block": ["warps * 32"], "shared": "shared",
       "args": ["scores", "v", "y", {"i32": "queries"}, {"i32": "keys"}, {"i32": "out"}, {"i32": "pitch"}]}
    ]
  },
  "model": {
    "let": {
      "tiles": "score_tiles + value_tiles",
      "slabs": "score_tiles * cdiv(width, BLOCK_K) + value_tiles * cdiv(keys, BLOCK_K)",
      "products": "WARP_M / 16 * (WARP_N / 8)",
      "split": "weight.split * (WARP_M / 4 + WARP_N / 4)",
      "copies": "cdiv((BLOCK_M + BLOCK_N) * BLOCK_K, VECTOR * warps * 32)",
      "matrix": "batch * queries * pitch * 4",
      "read": "batch * (slabs * (BLOCK_M + BLOCK_N) * BLOCK_K * 4) + 2 * matrix"
    },
    "blocks": "batch * tiles",
    "threads": "warps * 32",
    "registers": "min(registers_held, 65536 / (warps * 32 * MIN_BLOCKS))",
    "shared_bytes": "shared",
    "rounds": "256 * slabs / tiles",
    "math": "256 * 6 * BLOCK_M * BLOCK_N * BLOCK_K * weight.gaps / 100 / max(dev.ops.tf32, 1)",
    "issue": "256 * warps * (BLOCK_K / 8 * (products * weight.product + split + WARP_M / 16 + WARP_N / 8) + copies * weight.copy + weight.slab) / 4",
    "shared": "256 * warps * BLOCK_K / 8 * (WARP_M / 4 + WARP_N / 4)",
    "fill": "256 * (BLOCK_M + BLOCK_N) * BLOCK_K * 4 / weight.fill_bytes",
    "chain": "256 * (weight.slab_wait + BLOCK_K / 8 * (WARP_N / 16 * weight.column_wait + weight.step_wait))",
    "latency": "256 * weight.latency",
    "ahead": "STAGES - 1",
    "ends": "256 * cdiv(batch * tiles, dev.sms) * weight.end",
    "start": "256 * weight.start",
    "launches": "3",
    "l2": "read + 2 * matrix + batch * queries * out * 4",
    "dram": "batch * (queries * (width + out) + keys * (width + out)) * 4 + (matrix > dev.l2 * weight.l2_percent / 100 ? 4 * matrix : 0)",
    "traits": {"tile": "256 * BLOCK_M * BLOCK_N / 64", "slab": "256 * BLOCK_K", "width": "256 * VECTOR"}
  }
}
*/
// Both products take tiles of BLOCK_M queries by BLOCK_N columns. Slabs of BLOCK_K terms lie in a
// ring of shared memory that cp.async fills. Warps split the elements that they read into two
// planes of tf32, multiply these in three products and add eight terms at a time to fp32 totals, so
// that the tensor core's own sums stay short.
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/mma.cuh"
#include "cupilot/scores.cuh"

constexpr int WARPS_N = BLOCK_N / WARP_N;
constexpr int THREADS = BLOCK_M / WARP_M * WARPS_N * 32;
constexpr int PITCH_K = BLOCK_K + 4;  // of a tile whose rows run along the terms
constexpr int PITCH_N = BLOCK_N + 8;  // of one whose rows run along the columns
constexpr int A_FLOATS = BLOCK_M * PITCH_K;
constexpr int B_FLOATS = BLOCK_N * PITCH_K > BLOCK_K* PITCH_N ? BLOCK_N* PITCH_K : BLOCK_K* PITCH_N;
constexpr int STAGE = A_FLOATS + B_FLOATS;
constexpr int DOWN = WARP_M / 16, ACROSS = WARP_N / 8;

// A matrix as it lies: `pitch` elements from row to row.
struct Matrix {
  const float* from;
  int rows, columns, pitch;
};

// Starts the copies of a tile; zeros stand for what lies outside.
template <int ROWS, int COLUMNS, int TO_PITCH>
__device__ __forceinline__ void start_tile(float* to, const Matrix& of, int top, int left) {
  constexpr int RUNS = COLUMNS / VECTOR;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < ROWS * RUNS; i += THREADS) {
    const int row = top + i / RUNS, column = left + i % RUNS * VECTOR;
    const int valid = row < of.rows ? max(0, min(VECTOR, of.columns - column)) * 4 : 0;
    const float* from =
        valid > 0 ? of.from + static_cast<long long>(row) * of.pitch + column : of.from;
    copy_async<VECTOR * 4, false>(shared_address(to + i / RUNS * TO_PITCH + i % RUNS * VECTOR),
                                  from, valid);
  }
}

// An element as two of tf32; the tensor core cuts the second one off after its own bits.
__device__ __forceinline__ void split(unsigned word, unsigned& high, unsigned& low) {
  high = round_to_tf32(word) & 0xffffe000u;
  low = __float_as_uint(__uint_as_float(word) - __uint_as_float(high));
}

// Raw elements of B for columns 16 * pair .. + 15 and eight terms.
template <bool TURNED>
__device__ __forceinline__ void load_columns(unsigned (&to)[4], const float* b, int first, int pair,
                                             int lane) {
  if constexpr (TURNED) {
    const int row = first + pair * 16 + lane % 8 + lane / 16 * 8;
    load_matrices(to, shared_address(b + row * PITCH_K + lane / 8 % 2 * 4));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[i] = __float_as_uint(
          b[(lane % 4 + i % 2 * 4) * PITCH_N + first + pair * 16 + i / 2 * 8 + lane / 4]);
  }
}

using Totals = float[DOWN][ACROSS][4];

// Adds the products of a slab. TURNED: rows of B run along the terms.
template <bool TURNED>
__device__ __forceinline__ void multiply_slab(const float* a, const float* b, int top, int left,
                                              Totals& totals) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int k = 0; k < BLOCK_K; k += 8) {
    unsigned high[DOWN][4], low[DOWN][4];
#pragma unroll
    for (int i = 0; i < DOWN; ++i) {
      unsigned raw[4];
      load_matrices(raw,
                    shared_address(a + (top + i * 16 + lane % 16) * PITCH_K + k + lane / 16 * 4));
#pragma unroll
      for (int j = 0; j < 4; ++j) split(raw[j], high[i][j], low[i][j]);
    }
#pragma unroll
    for (int pair = 0; pair < ACROSS / 2; ++pair) {
      unsigned raw[4], b_high[2][2], b_low[2][2];
      load_columns<TURNED>(raw, TURNED ? b + k : b + k * PITCH_N, left, pair, lane);
#pragma unroll
      for (int j = 0; j < 4; ++j) split(raw[j], b_high[j / 2][j % 2], b_low[j / 2][j % 2]);
      float sums[DOWN][2][4] = {};
#pragma unroll
      for (int product = 0; product < 3; ++product) {
#pragma unroll
        for (int i = 0; i < DOWN; ++i) {
#pragma unroll
          for (int j = 0; j < 2; ++j)
            multiply_add<float>(sums[i][j], product == 0 ? low[i] : high[i],
                                product == 1 ? b_low[j] : b_high[j]);
        }
      }
#pragma unroll
      for (int i = 0; i < DOWN; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) totals[i][pair * 2 + j][e] += sums[i][j][e];
        }
      }
    }
  }
}

template <bool TURNED>
__device__ __forceinline__ void start_slab(float* stage, const Matrix& a, const Matrix& b, int top,
                                           int left, int k) {
  start_tile<BLOCK_M, BLOCK_K, PITCH_K>(stage, a, top, k);
  if constexpr (TURNED) {
    start_tile<BLOCK_N, BLOCK_K, PITCH_K>(stage + A_FLOATS, b, left, k);
  } else {
    start_tile<BLOCK_K, BLOCK_N, PITCH_N>(stage + A_FLOATS, b, k, left);
  }
}

// A tile of A times B, handed to `store(row, column, two neighbours)`.
template <bool TURNED, class Store>
__device__ __forceinline__ void product(const Matrix& a, const Matrix& b, int top, int left,
                                        Store store) {
  extern __shared__ __align__(16) float ring[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_top = warp / WARPS_N * WARP_M, warp_left = warp % WARPS_N * WARP_N;
  const int slabs = (a.columns + BLOCK_K - 1) / BLOCK_K;
  Totals totals = {};
#pragma unroll 1
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < slabs) start_slab<TURNED>(ring + s * STAGE, a, b, top, left, s * BLOCK_K);
    commit_copies();
  }
  int reading = 0, filling = STAGES - 1;
#pragma unroll 1
  for (int s = 0; s < slabs; ++s) {
    wait_copies<STAGES - 2>();  // slab s has landed
    __syncthreads();            // everyone's part of it; and everyone has left slab s - 1
    const int next = s + STAGES - 1;
    if (next < slabs) start_slab<TURNED>(ring + filling * STAGE, a, b, top, left, next * BLOCK_K);
    commit_copies();
    const float* stage = ring + reading * STAGE;
    multiply_slab<TURNED>(stage, stage + A_FLOATS, warp_top, warp_left, totals);
    reading = reading + 1 == STAGES ? 0 : reading + 1;
    filling = filling + 1 == STAGES ? 0 : filling + 1;
  }
#pragma unroll
  for (int i = 0; i < DOWN; ++i) {
#pragma unroll
    for (int j = 0; j < ACROSS; ++j) {
      const int row = top + warp_top + i * 16 + lane / 4;
      const int column = left + warp_left + j * 8 + lane % 4 * 2;
      store(row, column, totals[i][j][0], totals[i][j][1]);
      store(row + 8, column, totals[i][j][2], totals[i][j][3]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_scores(const float* q, const float* k, float* scores, int queries, int keys,
                     int width, int pitch SCORE_PARAMETERS) {
  const int across = (keys + BLOCK_N - 1) / BLOCK_N, down = (queries + BLOCK_M - 1) / BLOCK_M;
  const long long batch = blockIdx.x / (across * down);
  const int tile = static_cast<int>(blockIdx.x % (across * down));
  const Matrix a = {q + batch * queries * width, queries, width, width};
  const Matrix b = {k + batch * keys * width, keys, width, width};
  float* to = scores + batch * queries * pitch;
  const Scores made = SCORES(width);
  product<true>(a, b, tile / across * BLOCK_M, tile % across * BLOCK_N,
                [&](int row, int column, float first, float second) {
                  if (row >= queries || column >= keys) return;
                  float* at = to + static_cast<long long>(row) * pitch + column;
                  const long long query = batch * queries + row;
                  // The row's end is filled up to a whole vector.
                  const float2 both = {made.of(query, column, keys, first),
                                       made.of(query, min(column + 1, keys - 1), keys, second)};
                  *reinterpret_cast<float2*>(at) = both;
                });
}

// Turns the scores of a row into weights. N neighbours a lane.
template <int N>
__device__ __forceinline__ void weigh(float* row, int keys, int seen, int lane) {
  float largest = __uint_as_float(0xff800000u), total = 0.0f;
  for (int column = lane * N; column < seen; column += 32 * N) {
    const Vector<float, N> values = load_vector<float, N>(row + column);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (column + i < seen) largest = fmaxf(largest, values.at[i]);
    }
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  for (int column = lane * N; column < seen; column += 32 * N) {
    const Vector<float, N> values = load_vector<float, N>(row + column);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (column + i < seen) total += expf(values.at[i] - largest);
    }
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
  const float share = 1.0f / total;
  for (int column = lane * N; column < keys; column += 32 * N) {
    Vector<float, N> values = load_vector<float, N>(row + column);
#pragma unroll
    for (int i = 0; i < N; ++i)
      values.at[i] = column + i < seen ? expf(values.at[i] - largest) * share : 0.0f;
    store_vector(row + column, values);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    attention_weights(float* scores, long long rows, int queries, int keys, int pitch) {
  const long long row = static_cast<long long>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows) return;
  const int seen = CAUSAL ? min(keys, static_cast<int>(row % queries) + 1) : keys;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (keys % 4 == 0) {
    weigh<4>(scores + row * pitch, keys, seen, lane);
  } else {
    weigh<1>(scores + row * pitch, keys, seen, lane);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_values(const float* weights, const float* v, float* y, int queries, int keys, int out,
                     int pitch) {
  const int across = (out + BLOCK_N - 1) / BLOCK_N, down = (queries + BLOCK_M - 1) / BLOCK_M;
  const long long batch = blockIdx.x / (across * down);
  const int tile = static_cast<int>(blockIdx.x % (across * down));
  const Matrix a = {weights + batch * queries * pitch, queries, keys, pitch};
  const Matrix b = {v + batch * keys * out, keys, out, out};
  float* to = y + batch * queries * out;
  product<false>(a, b, tile / across * BLOCK_M, tile % across * BLOCK_N,
                 [&](int row, int column, float first, float second) {
                   if (row >= queries || column >= out) return;
                   float* at = to + static_cast<long long>(row) * out + column;
                   if constexpr (VECTOR > 1) {
                     const float2 both = {first, second};
                     *reinterpret_cast<float2*>(at) = both;
                   } else {
                     at[0] = first;
                     if (column + 1 < out) at[1] = second;
                   }
                 });
}
