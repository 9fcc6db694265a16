/* cupilot tunable 2
{
  "name": "attention_stream",
  "family": "attention",
  "anchor": "weighted",
  "summary": "attention of 16-bit elements in one launch: keys pass by tile after tile, scores and weights stay in registers, products by mma.sync",
  "provides": ["streamed_keys", "async_copy"],
  "requires": ["streamed_keys"],
  "when": ["elem.q == 2 && elem.k == 2 && elem.v == 2 && elem.y == 2", "class.bf16 || class.fp16", "CAUSAL == 0 || CAUSAL == 1"],
  "parameters": {
    "KEYS": {"name": "tile_keys", "technique": "streamed_keys", "domain": [16, 32, 64, 128], "plain": 32},
    "PLANES": {"name": "weight_planes", "technique": "streamed_keys", "domain": [2, 3], "plain": 2},
    "BLOCK_M": {"name": "block_m", "technique": "block_tile", "domain": [16, 32, 64, 128, 256], "plain": 64},
    "BLOCK_N": {"name": "block_n", "technique": "block_tile", "domain": [16, 32, 64, 96, 128, 192, 256], "plain": 64},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [16, 32, 64, 128], "plain": 32},
    "WARP_M": {"name": "warp_m", "technique": "warp_tile", "domain": [16, 32], "plain": 16},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4], "plain": 2},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1},
    "SKIP": {"name": "skip_masked_scores", "technique": "skip_masked_scores", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "warps": "BLOCK_M / WARP_M",
    "down": "WARP_M / 16",
    "registers_held": "down * (BLOCK_N / 2 + KEYS / 2 + 4 * PLANES + 12) + 40",
    "stage": "KEYS * (max(BLOCK_K, BLOCK_N) + 8) * 2"
  },
  "restrict": [
    "WARP_M <= BLOCK_M",
    "SKIP == 0 || CAUSAL",
    "registers_held <= 240",
    "registers_held * warps * 32 * MIN_BLOCKS <= dev.registers",
    "(BLOCK_M * (BLOCK_K + 8) * 2 + STAGES * stage + 1024) * MIN_BLOCKS <= dev.shared + 1024",
    "KEYS * max(BLOCK_K, BLOCK_N) <= 4096 * warps"
  ],
  "registers": "registers_held",
  "plan": {
    "require": ["width % VECTOR == 0 && out % VECTOR == 0", "(shared + 1024) * MIN_BLOCKS <= dev.shared + 1024"],
    "let": {
      "pitch": "up(width, BLOCK_K) + 8",
      "shared": "BLOCK_M * pitch * 2 + STAGES * stage",
      "tiles": "cdiv(queries, BLOCK_M) * cdiv(out, BLOCK_N)"
    },
    "launches": [
      {"name": "main", "entry": "attention_stream", "grid": ["batch * tiles"], "block": ["warps * 32"], "shared": "shared",
       "args": ["q", "k", "v", "y", {"i32": "queries"}, {"i32": "keys"}, {"i32": "width"}, {"i32": "out"}, {"i32": "pitch"}]}
    ]
  },
  "model": {
    "let": {
      "slabs": "cdiv(width, BLOCK_K)",
      "wide": "slabs * BLOCK_K",
      "rounds_met": "cdiv(keys, KEYS)",
      "rounds_seen": "SKIP ? min(rounds_met, (rounds_met + cdiv(BLOCK_M, KEYS) + 1) / 2) : rounds_met",
      "items": "rounds_seen * slabs + rounds_met",
      "score_products": "down * (KEYS / 8) * (wide / 16)",
      "value_products": "down * (KEYS / 16) * (BLOCK_N / 8)",
      "score_reads": "wide / 16 * (down + KEYS / 16)",
      "value_reads": "KEYS / 16 * cdiv(BLOCK_N, 16)",
      "weighing": "down * (KEYS / 2 * (weight.score + weight.plane * PLANES) + BLOCK_N / 2 + weight.row)",
      "seen_issue": "score_products + PLANES * value_products + score_reads + value_reads + weighing",
      "unseen_issue": "value_products + value_reads + down * KEYS",
      "copied": "KEYS * (rounds_seen * wide + rounds_met * BLOCK_N)",
      "copies": "cdiv(copied, VECTOR * warps * 32)",
      "multiplied": "KEYS * (rounds_seen * (wide + PLANES * BLOCK_N) + (rounds_met - rounds_seen) * BLOCK_N)",
      "rate": "class.bf16 ? dev.ops.bf16 : dev.ops.fp16",
      "unseen": "rounds_met - rounds_seen"
    },
    "blocks": "batch * tiles",
    "threads": "warps * 32",
    "registers": "min(min(registers_held + weight.registers, 255), 65536 / (warps * 32 * MIN_BLOCKS))",
    "shared_bytes": "shared",
    "rounds": "256 * items",
    "math": "256 * 2 * BLOCK_M * multiplied / items * weight.gaps / 100 / max(rate, 1)",
    "issue": "256 * warps * ((rounds_seen * seen_issue + unseen * unseen_issue + copies * weight.copy) / items + weight.item) / 4",
    "shared": "256 * (warps * 4 * (rounds_seen * score_reads + rounds_met * value_reads) + copied / 64) / items",
    "fill": "256 * (copied * 2 / weight.fill_bytes) / items",
    "chain": "256 * (weight.item_wait + (rounds_seen * (wide / 16 * weight.score_wait + weight.row_wait) + rounds_met * (KEYS / 16 * weight.value_wait)) / items)",
    "latency": "256 * weight.latency",
    "ahead": "STAGES - 1",
    "ends": "256 * cdiv(batch * tiles, dev.sms) * (weight.end + BLOCK_M * (wide + BLOCK_N) * 2 / weight.fill_bytes)",
    "start": "256 * weight.start",
    "l2": "batch * tiles * (BLOCK_M * wide + copied) * 2 + batch * queries * out * 2",
    "dram": "batch * (queries + keys) * (width + out) * 2",
    "traits": {"tile": "256 * BLOCK_M * KEYS / 64", "slab": "256 * BLOCK_K", "width": "256 * VECTOR", "wasted": "256 * wide * up(out, BLOCK_N) / max(width * out, 1)"}
  }
}
*/
// A block takes BLOCK_M queries, which stay in shared memory, and BLOCK_N columns of y. Keys pass
// in tiles of KEYS: slabs of K, then the tile of V, through a ring that cp.async fills. Each warp
// keeps the scores of WARP_M queries in registers, turns them into exponentials of the distance
// from the largest so far, and multiplies these by V; what it has summed before is scaled when a
// larger score comes. Exponentials enter the product as PLANES numbers of 16 bits that add up to
// them, since the contract grants no rounding of what the kernel computes on its way.
#include "cupilot/vector.cuh"
#include "cupilot/pairs.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/mma.cuh"
#include "cupilot/scores.cuh"
#include "cupilot/exponentials.cuh"

using T = T_q;
constexpr int THREADS = BLOCK_M / WARP_M * 32, DOWN = WARP_M / 16;
constexpr int PITCH_K = BLOCK_K + 8, PITCH_V = BLOCK_N + 8;  // 8 apart, rows meet other banks
constexpr int STAGE = KEYS * (PITCH_K > PITCH_V ? PITCH_K : PITCH_V);
constexpr float LIFT = 1 << LIFT_BITS<T>;

struct Matrix {
  const T* from;
  int rows, columns;
};

// Starts the copies of a tile, or copies at once what is too narrow for cp.async; zeros stand for
// what lies outside.
template <int ROWS, int COLUMNS>
__device__ __forceinline__ void start_tile(T* to, int to_pitch, const Matrix& of, int top,
                                           int left) {
  constexpr int RUNS = COLUMNS / VECTOR;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < ROWS * RUNS; i += THREADS) {
    const int row = top + i / RUNS, column = left + i % RUNS * VECTOR;
    const bool present = row < of.rows && column < of.columns;
    const T* from = present ? of.from + static_cast<long long>(row) * of.columns + column : of.from;
    T* at = to + i / RUNS * to_pitch + i % RUNS * VECTOR;
    if constexpr (VECTOR == 1) {
      *at = present ? *from : T{0};
    } else {
      copy_async<VECTOR * 2, false>(shared_address(at), from, present ? VECTOR * 2 : 0);
    }
  }
}

// Fills the ring: of each tile of keys the slabs of K, unless nobody sees the tile, then V.
struct Supply {
  Matrix k, v;
  int left, slabs, tiles, seen;
  T* ring;
  int tile = 0, slab = 0, filling = 0;

  __device__ __forceinline__ void start() {
    if (tile < tiles) {
      T* to = ring + filling * STAGE;
      if (tile < seen && slab < slabs) {
        start_tile<KEYS, BLOCK_K>(to, PITCH_K, k, tile * KEYS, slab * BLOCK_K);
        ++slab;
      } else {
        start_tile<KEYS, BLOCK_N>(to, PITCH_V, v, tile * KEYS, left);
        slab = 0;
        ++tile;
      }
    }
    commit_copies();
    filling = filling + 1 == STAGES ? 0 : filling + 1;
  }
};

// A warp's scores and sums. A lane has two rows of each sixteen, lane / 4 and 8 below.
struct Held {
  float scores[DOWN][KEYS / 8][4];
  float sums[DOWN][BLOCK_N / 8][4];
  float largest[DOWN][2], total[DOWN][2];  // of the scores; of the lane's exponentials

  __device__ __forceinline__ void clear_scores() {
#pragma unroll
    for (int i = 0; i < DOWN * (KEYS / 8) * 4; ++i) (&scores[0][0][0])[i] = 0.0f;
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < DOWN * (BLOCK_N / 8) * 4; ++i) (&sums[0][0][0])[i] = 0.0f;
#pragma unroll
    for (int i = 0; i < DOWN * 2; ++i) {
      (&largest[0][0])[i] = minus_infinity();
      (&total[0][0])[i] = 0.0f;
    }
  }
};

// Adds the products of queries, whose slab begins at `q`, and a slab of keys.
__device__ __forceinline__ void multiply_slab(Held& held, const T* q, int pitch, const T* k,
                                              int lane) {
#pragma unroll
  for (int step = 0; step < BLOCK_K; step += 16) {
    unsigned a[DOWN][4];
#pragma unroll
    for (int i = 0; i < DOWN; ++i)
      load_matrices(a[i], shared_address(q + (i * 16 + lane % 16) * pitch + step + lane / 16 * 8));
#pragma unroll
    for (int pair = 0; pair < KEYS / 16; ++pair) {
      unsigned b[4];
      const int row = pair * 16 + lane % 8 + lane / 16 * 8;
      load_matrices(b, shared_address(k + row * PITCH_K + step + lane / 8 % 2 * 8));
      const unsigned sides[2][2] = {{b[0], b[1]}, {b[2], b[3]}};
#pragma unroll
      for (int i = 0; i < DOWN; ++i) {
        multiply_add<T>(held.scores[i][pair * 2], a[i], sides[0]);
        multiply_add<T>(held.scores[i][pair * 2 + 1], a[i], sides[1]);
      }
    }
  }
}

// Makes scores of sums that no factor alone turns into them. Rows past the queries get the last
// one's. `row` is the lane's first, `first_row` the batch's first of all.
__device__ __forceinline__ void make_scores(Held& held, const Scores& made, long long first_row,
                                            int row, int queries, int first_key, int keys,
                                            int lane) {
#pragma unroll
  for (int i = 0; i < DOWN; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long query = first_row + min(row + i * 16 + half * 8, queries - 1);
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = held.scores[i][j][half * 2 + e];
          score = made.of(query, min(first_key + j * 8 + lane % 4 * 2 + e, keys - 1), keys, score);
        }
      }
    }
  }
}

// Takes keys that a query does not see, or that do not exist, out. `row` is the lane's first.
__device__ __forceinline__ void mask(Held& held, int row, int first_key, int keys, int lane) {
#pragma unroll
  for (int i = 0; i < DOWN; ++i) {
#pragma unroll
    for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int key = first_key + j * 8 + lane % 4 * 2 + e % 2;
        if (key >= keys || (CAUSAL && key > row + i * 16 + e / 2 * 8))
          held.scores[i][j][e] = minus_infinity();
      }
    }
  }
}

// Turns scores into exponentials. The distance is taken before the factor, so that it is zero at
// the largest score however large that is.
__device__ __forceinline__ void weigh(Held& held, float factor) {
#pragma unroll
  for (int i = 0; i < DOWN; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = held.largest[i][half];
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j)
        largest =
            fmaxf(largest, fmaxf(held.scores[i][j][half * 2], held.scores[i][j][half * 2 + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      const float base = largest == minus_infinity() ? 0.0f : largest;
      const float fade = power_of_two((held.largest[i][half] - base) * factor);
      held.largest[i][half] = largest;
      float total = 0.0f;
#pragma unroll
      for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
        for (int e = half * 2; e < half * 2 + 2; ++e) {
          const float one = power_of_two((held.scores[i][j][e] - base) * factor) * LIFT;
          total += one;
          held.scores[i][j][e] = one;
        }
      }
      held.total[i][half] = held.total[i][half] * fade + total;
#pragma unroll
      for (int j = 0; j < BLOCK_N / 8; ++j) {
        held.sums[i][j][half * 2] *= fade;
        held.sums[i][j][half * 2 + 1] *= fade;
      }
    }
  }
}

// The exponentials of sixteen keys as fragments, one for each plane.
__device__ __forceinline__ void split(const Held& held, int i, int step,
                                      unsigned (&planes)[PLANES][4]) {
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    const float* from = &held.scores[i][step * 2 + word / 2][word % 2 * 2];
    float low = from[0], high = from[1];
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
      const unsigned pair = pack_pair<T>(low, high);
      planes[plane][word] = pair;
      low -= to_float(T{static_cast<unsigned short>(pair)});
      high -= to_float(T{static_cast<unsigned short>(pair >> 16)});
    }
  }
}

// Adds the exponentials times the tile of V. FIRST_PLANE alone where an infinity of V would meet a
// remainder of zero.
__device__ __forceinline__ void multiply_values(Held& held, const T* v, bool first_plane,
                                                int lane) {
#pragma unroll
  for (int step = 0; step < KEYS / 16; ++step) {
    unsigned planes[DOWN][PLANES][4];
#pragma unroll
    for (int i = 0; i < DOWN; ++i) split(held, i, step, planes[i]);
#pragma unroll
    for (int pair = 0; pair < BLOCK_N / 16; ++pair) {
      unsigned b[4];
      load_matrices_transposed(
          b, shared_address(v + (step * 16 + lane % 16) * PITCH_V + pair * 16 + lane / 16 * 8));
      const unsigned sides[2][2] = {{b[0], b[1]}, {b[2], b[3]}};
#pragma unroll
      for (int plane = PLANES - 1; plane >= 0; --plane) {
        if (plane > 0 && first_plane) continue;
#pragma unroll
        for (int i = 0; i < DOWN; ++i) {
          multiply_add<T>(held.sums[i][pair * 2], planes[i][plane], sides[0]);
          multiply_add<T>(held.sums[i][pair * 2 + 1], planes[i][plane], sides[1]);
        }
      }
    }
  }
}

// Stores a warp's results. `row` is the lane's first.
struct Target {
  T* y;
  int row, column, queries, out;

  // Stores results, of a second walk (`again`) those alone that are not finite, and tells whether
  // there are such.
  __device__ __forceinline__ bool store(const Held& held, bool again) const {
    bool broken = false;
#pragma unroll
    for (int i = 0; i < DOWN; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float total = held.total[i][half];
        total += __shfl_xor_sync(0xffffffffu, total, 1);
        total += __shfl_xor_sync(0xffffffffu, total, 2);
        const float share = 1.0f / total;
        const int r = row + i * 16 + half * 8;
        if (r >= queries) continue;
        T* to = y + static_cast<long long>(r) * out;
#pragma unroll
        for (int j = 0; j < BLOCK_N / 8; ++j)
          broken |= store_pair(to, column + j * 8, held.sums[i][j][half * 2] * share,
                               held.sums[i][j][half * 2 + 1] * share, again);
      }
    }
    return broken;
  }
  __device__ __forceinline__ bool store_pair(T* to, int at, float first, float second,
                                             bool again) const {
    const bool one = at < out, two = at + 1 < out;
    const bool broken = (one && !is_finite(first)) || (two && !is_finite(second));
    if (VECTOR > 1 && !again) {
      if (one) *reinterpret_cast<unsigned*>(to + at) = pack_pair<T>(first, second);
    } else {
      if (one && !(again && is_finite(first))) to[at] = from_float<T>(first);
      if (two && !(again && is_finite(second))) to[at + 1] = from_float<T>(second);
    }
    return broken;
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    attention_stream(const T* q, const T* k, const T* v, T* y, int queries, int keys, int width,
                     int out, int pitch SCORE_PARAMETERS) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* q_tile = reinterpret_cast<T*>(shared);
  T* ring = q_tile + BLOCK_M * pitch;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int across = (out + BLOCK_N - 1) / BLOCK_N, down = (queries + BLOCK_M - 1) / BLOCK_M;
  const long long batch = blockIdx.x / (across * down);
  const int tile = static_cast<int>(blockIdx.x % (across * down));
  // The queries that see most come first, so that no long block begins last.
  const int top = (SKIP ? down - 1 - tile / across : tile / across) * BLOCK_M;
  const int left = tile % across * BLOCK_N;
  const int slabs = (width + BLOCK_K - 1) / BLOCK_K, tiles = (keys + KEYS - 1) / KEYS;
  const int seen = SKIP ? min(tiles, (top + BLOCK_M + KEYS - 1) / KEYS) : tiles;
  const Scores made = SCORES(width);
  const float factor = LOG2_E * (Scores::BY_FACTOR ? made.factor : 1.0f);
  const Target target = {y + batch * queries * out, top + warp * WARP_M + lane / 4,
                         left + lane % 4 * 2, queries, out};
  const Matrix queries_of = {q + batch * queries * width, queries, width};
#pragma unroll 1
  for (int slab = 0; slab < slabs; ++slab)
    start_tile<BLOCK_M, BLOCK_K>(q_tile + slab * BLOCK_K, pitch, queries_of, top, slab * BLOCK_K);
  const T* q_warp = q_tile + warp * WARP_M * pitch;
  bool again = false;
#pragma unroll 1
  do {
    Supply supply = {{k + batch * keys * width, keys, width},
                     {v + batch * keys * out, keys, out},
                     left,
                     slabs,
                     tiles,
                     seen,
                     ring};
    Held held;
    held.clear();
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; ++s) supply.start();
    int reading = 0;
    // The next part of the ring, once all threads' copies have landed and all have left the last.
    const auto next = [&] {
      wait_copies<STAGES - 2>();
      __syncthreads();
      supply.start();
      const T* stage = ring + reading * STAGE;
      reading = reading + 1 == STAGES ? 0 : reading + 1;
      return stage;
    };
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
      held.clear_scores();
      if (t < seen) {
#pragma unroll 1
        for (int slab = 0; slab < slabs; ++slab)
          multiply_slab(held, q_warp + slab * BLOCK_K, pitch, next(), lane);
        if constexpr (!Scores::BY_FACTOR)
          make_scores(held, made, batch * queries, target.row, queries, t * KEYS, keys, lane);
        const int end = (t + 1) * KEYS;
        if (end > keys || (CAUSAL && end > top + warp * WARP_M))
          mask(held, target.row, t * KEYS, keys, lane);
        weigh(held, factor);
      }
      multiply_values(held, next(), again || t >= seen, lane);
    }
    wait_copies<0>();
    // A second walk by the first plane tells infinities of V from what is none.
    const bool broken = target.store(held, again);
    again = !again && __syncthreads_or(broken);
  } while (again);
}
