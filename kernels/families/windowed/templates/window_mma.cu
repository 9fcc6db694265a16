/* cupilot tunable 2
{
  "name": "window_mma",
  "family": "windowed",
  "anchor": "contraction",
  "summary": "a convolution as a product of matrices on tensor cores: tf32 by mma.sync m16n8k8, or three products of split operands",
  "provides": ["implicit_mma"],
  "requires": ["implicit_mma"],
  "when": ["class.tf32 || class.fp32_emulated || class.bf16x3 || class.bf16 || class.fp16"],
  "parameters": {
    "BLOCK_M": {"name": "block_m", "technique": "implicit_mma", "domain": [32, 64, 128, 256], "plain": 128},
    "BLOCK_N": {"name": "block_n", "technique": "implicit_mma", "domain": [16, 32, 64, 128], "plain": 64},
    "WARP_M": {"name": "warp_m", "technique": "implicit_mma", "domain": [16, 32, 64], "plain": 64},
    "WARP_N": {"name": "warp_n", "technique": "implicit_mma", "domain": [8, 16, 32, 64], "plain": 32},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [16, 32], "plain": 16},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [1, 2], "plain": 1},
    "PREFETCH": {"name": "register_prefetch", "technique": "register_prefetch", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1}
  },
  "let": {
    "warps": "(BLOCK_M / WARP_M) * (BLOCK_N / WARP_N)",
    "quads_a": "BLOCK_M * BLOCK_K / (128 * warps)",
    "quads_b": "cdiv(BLOCK_N * BLOCK_K, 128 * warps)",
    "sums": "WARP_M * WARP_N / 32",
    "fragments": "(WARP_M / 2 + 8) * graph_planes",
    "slab_bytes": "(BLOCK_M + BLOCK_N) * BLOCK_K * 4 * graph_planes",
    "block_bytes": "STAGES * slab_bytes + BLOCK_K * 32",
    "held": "sums + fragments + PREFETCH * 4 * (quads_a + quads_b) + 3 * max(1, BLOCK_M / (32 * warps)) + 3 * quads_b + 30"
  },
  "restrict": [
    "BLOCK_M % WARP_M == 0 && BLOCK_N % WARP_N == 0",
    "warps <= 16 && warps >= 2",
    "BLOCK_M * BLOCK_K % (128 * warps) == 0",
    "BLOCK_N * BLOCK_K * 2 >= 128 * warps",
    "PREFETCH == 1 || STAGES == 1",
    "held <= 255",
    "held * 32 * warps * MIN_BLOCKS <= dev.registers",
    "(block_bytes + 1024) * MIN_BLOCKS <= dev.shared + 1024"
  ],
  "registers": "held",
  "plan": {
    "require": ["graph_largest <= 2147483648"],
    "let": {
      "tiles": "cdiv(graph_m, BLOCK_M) * cdiv(graph_n, BLOCK_N)",
      "slabs": "cdiv(graph_k, BLOCK_K)"
    },
    "launches": [
      {"name": "main", "entry": "window_mma", "grid": ["tiles * graph_batch"], "block": ["warps * 32"], "shared": "STAGES * slab_bytes", "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "products": "WARP_M * WARP_N * BLOCK_K / 1024 * (graph_planes == 2 ? 3 : 1)",
      "reads": "(WARP_M + WARP_N) / 8 * BLOCK_K / 16 * graph_planes",
      "fetches": "4 * (quads_a + quads_b)",
      "phased": "min(8, graph_store_step)",
      "near": "sums * (graph_row_operations + weight.result + weight.strided * phased)",
      "rate": "dev.ops.tf32 > 0 ? dev.ops.tf32 : weight.rate"
    },
    "blocks": "tiles * graph_batch",
    "threads": "warps * 32",
    "registers": "min(held, dev.registers / (warps * 32 * MIN_BLOCKS))",
    "shared_bytes": "block_bytes",
    "rounds": "256 * slabs / graph_phases",
    "math": "256 * warps * products * 2048 * weight.gaps / (rate * 100)",
    "issue": "256 * warps * (products + reads + fetches * weight.fetch + 4 * quads_a * graph_operand_operations + (quads_a + quads_b) * 4 * (graph_planes - 1) * weight.split + weight.slab) / weight.issued",
    "shared": "256 * warps * (reads * 4 + (quads_a + quads_b) * 4 * graph_planes + fetches)",
    "fill": "256 * warps * fetches * 128 / weight.fill_bytes",
    "chain": "256 * (weight.wait + products / 2 * weight.product_wait + reads * weight.read_wait + fetches * weight.fetch_wait + (STAGES > 1 ? 0 : weight.barrier))",
    "latency": "256 * (PREFETCH ? weight.ahead_latency : weight.latency)",
    "ahead": "PREFETCH",
    "ends": "256 * cdiv(tiles * graph_batch, dev.sms) * (warps * near / 4 + weight.end / max(1, MIN_BLOCKS))",
    "start": "256 * weight.start",
    "l2": "graph_bytes + 4 * graph_batch * graph_m * graph_n * (phased - 1) * weight.strided_l2 / 100 + tiles * graph_batch * slabs / graph_phases * (BLOCK_M * min(8, graph_load_step) + BLOCK_N) * BLOCK_K * graph_widest / weight.l1_reuse",
    "dram": "graph_bytes + (phased > 1 ? weight.strided_dram * graph_batch * graph_m * graph_n : 0)",
    "traits": {"tile": "256 * BLOCK_M * BLOCK_N / 64", "slab": "256 * BLOCK_K", "warp": "256 * WARP_M * WARP_N / 64"}
  }
}
*/
// A block computes BLOCK_M places by BLOCK_N channels, each warp a part of WARP_M by WARP_N. It
// walks the terms in slabs of BLOCK_K, which pass through registers to shared memory. There 16
// terms of a place or channel lie together as four words of four: a multiply-add takes the terms of
// a word in turn, so that one load of a word brings a lane's operands of four multiply-adds. Words
// are exchanged by their row's number, and no access meets a bank twice.
#include "cupilot/mma.cuh"
#include "cupilot/planes.cuh"

constexpr int WARPS_M = BLOCK_M / WARP_M, WARPS_N = BLOCK_N / WARP_N;
constexpr int THREADS = WARPS_M * WARPS_N * 32;
constexpr int SUBS_M = WARP_M / 16, SUBS_N = WARP_N / 8;
constexpr int GROUPS = BLOCK_K / 16;
constexpr int QUADS = BLOCK_K / 4;  // words of a row
constexpr int EACH_A = BLOCK_M * QUADS / THREADS;
constexpr int EACH_B = (BLOCK_N * QUADS + THREADS - 1) / THREADS;
using Terms = Graph::Terms<BLOCK_K>;
// Threads side by side take neighbouring places; where a block has fewer threads than places each
// takes several, else several words of one.
constexpr int PLACES = BLOCK_M > THREADS ? BLOCK_M / THREADS : 1;

struct Word {
  unsigned at[4];
};

// Number of a row's word among a group of 16 terms.
__device__ __forceinline__ int word_place(int row, int word) {
  return row * 4 + (word ^ (row >> 1 & 3));
}

struct Slab {
  uint4 a[PLANES][GROUPS][BLOCK_M * 4];
  uint4 b[PLANES][GROUPS][BLOCK_N * 4];
};

template <int ROWS>
__device__ __forceinline__ void put_word(uint4 (&to)[PLANES][GROUPS][ROWS], int row, int quad,
                                         const float (&given)[4]) {
  float values[4] = {given[0], given[1], given[2], given[3]};
#pragma unroll
  for (int plane = 0; plane < PLANES; ++plane)
    to[plane][quad / 4][word_place(row, quad % 4)] = plane_of(values);
}

// A thread's share of a slab.
struct Share {
  const Graph& graph;
  Graph::Left places[PLACES];
  Graph::Right channels[EACH_B];
  float a[EACH_A][4], b[EACH_B][4];

  static __device__ __forceinline__ int row_a(int i) {
    return (static_cast<int>(threadIdx.x) + i * THREADS) % BLOCK_M;
  }
  static __device__ __forceinline__ int quad_a(int i) {
    return (static_cast<int>(threadIdx.x) + i * THREADS) / BLOCK_M;
  }
  // Four threads take the words of a channel's 16 terms; some may have none.
  static __device__ __forceinline__ int index_b(int i) {
    return static_cast<int>(threadIdx.x) + i * THREADS;
  }
  static __device__ __forceinline__ bool has_b(int i) {
    return BLOCK_N * QUADS % THREADS == 0 || index_b(i) < BLOCK_N * QUADS;
  }
  static __device__ __forceinline__ int row_b(int i) { return index_b(i) / 4 % BLOCK_N; }
  static __device__ __forceinline__ int quad_b(int i) {
    return index_b(i) / 4 / BLOCK_N * 4 + index_b(i) % 4;
  }

  __device__ __forceinline__ Share(const Graph& all, const Graph::Batch& batch, int top,
                                   int left_column)
      : graph(all) {
#pragma unroll
    for (int i = 0; i < PLACES; ++i) places[i] = graph.left_place(batch, top + row_a(i));
#pragma unroll
    for (int i = 0; i < EACH_B; ++i) channels[i] = graph.right_place(batch, left_column + row_b(i));
  }
  __device__ __forceinline__ void fetch(const Terms& terms) {
#pragma unroll
    for (int i = 0; i < EACH_A; ++i)
      graph.left_factors(places[i % PLACES], terms, quad_a(i) * 4, a[i]);
#pragma unroll
    for (int i = 0; i < EACH_B; ++i) {
      if (!has_b(i)) continue;
      graph.right_factors(channels[i], terms, quad_b(i) * 4, b[i]);
    }
  }
  __device__ __forceinline__ void put(Slab& slab) const {
#pragma unroll
    for (int i = 0; i < EACH_A; ++i) put_word(slab.a, row_a(i), quad_a(i), a[i]);
#pragma unroll
    for (int i = 0; i < EACH_B; ++i) {
      if (!has_b(i)) continue;
      put_word(slab.b, row_b(i), quad_b(i), b[i]);
    }
  }
};

// A warp's sums; lane (g, t) keeps rows g and g + 8 and columns 2t and 2t + 1 of each part.
struct Sums {
  float at[SUBS_M][SUBS_N][4];
  int row, column;  // of this lane's words

  __device__ __forceinline__ Sums() {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    row = warp % WARPS_M * WARP_M + lane / 4;
    column = warp / WARPS_M * WARP_N + lane / 4;
#pragma unroll
    for (int i = 0; i < SUBS_M; ++i) {
#pragma unroll
      for (int j = 0; j < SUBS_N; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) at[i][j][e] = 0.0f;
      }
    }
  }
  static __device__ __forceinline__ Word word(const uint4* rows, int of_row) {
    const uint4 four = rows[word_place(of_row, static_cast<int>(threadIdx.x) % 4)];
    return {{four.x, four.y, four.z, four.w}};
  }
  // Products of 16 terms of two planes; those of a word's pairs make a multiply-add each.
  __device__ __forceinline__ void add(const Word (&a)[SUBS_M][2], const Word (&b)[SUBS_N]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < SUBS_M; ++i) {
        const unsigned left[4] = {a[i][0].at[2 * half], a[i][1].at[2 * half],
                                  a[i][0].at[2 * half + 1], a[i][1].at[2 * half + 1]};
#pragma unroll
        for (int j = 0; j < SUBS_N; ++j) {
          const unsigned right[2] = {b[j].at[2 * half], b[j].at[2 * half + 1]};
          multiply_add<float>(at[i][j], left, right);
        }
      }
    }
  }
  __device__ __forceinline__ void add_slab(const Slab& slab) {
#pragma unroll
    for (int group = 0; group < GROUPS; ++group) {
      Word a[PLANES][SUBS_M][2], b[PLANES][SUBS_N];
#pragma unroll
      for (int plane = 0; plane < PLANES; ++plane) {
#pragma unroll
        for (int i = 0; i < 2 * SUBS_M; ++i)
          a[plane][i / 2][i % 2] = word(slab.a[plane][group], row + i * 8);
#pragma unroll
        for (int j = 0; j < SUBS_N; ++j) b[plane][j] = word(slab.b[plane][group], column + j * 8);
      }
      if constexpr (PLANES > 1) {
        add(a[1], b[0]);
        add(a[0], b[1]);
      }
      add(a[0], b[0]);
    }
  }
  __device__ __forceinline__ void store(const Graph& graph, const Graph::Batch& batch, int top,
                                        int left_column) const {
    const int first = left_column + column / 8 * 8 + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2 * SUBS_M; ++i) {
      const Graph::Left left = graph.left_place(batch, top + row + i * 8);
      if (!left.present) continue;
#pragma unroll
      for (int j = 0; j < 2 * SUBS_N; ++j) {
        const Graph::Right right = graph.right_place(batch, first + j / 2 * 8 + j % 2);
        if (right.present) graph.store(left, right, at[i / 2][j / 2][i % 2 * 2 + j % 2]);
      }
    }
  }
};

__device__ __forceinline__ void find_terms(Terms& terms, const Graph& graph,
                                           const Graph::Batch& batch, int first) {
  const int own = static_cast<int>(threadIdx.x);
  if (own < BLOCK_K) terms.keep(own, graph.term_place(batch, first + own));
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) window_mma(GRAPH_PARAMETERS) {
  extern __shared__ uint4 memory[];
  Slab* const slab = reinterpret_cast<Slab*>(memory);
  __shared__ Terms terms[2];
  const Graph graph{GRAPH_ARGUMENTS};
  const int across = (graph.n_count() + BLOCK_N - 1) / BLOCK_N, batches = graph.batches();
  const int tile = static_cast<int>(blockIdx.x) / batches;
  const Graph::Batch batch = graph.batch_place(static_cast<int>(blockIdx.x) % batches);
  const int top = tile / across * BLOCK_M, left_column = tile % across * BLOCK_N;
  Sums sums;
  {
    Share share(graph, batch, top, left_column);
    find_terms(terms[0], graph, batch, 0);
    find_terms(terms[1], graph, batch, BLOCK_K);
    __syncthreads();
    if constexpr (PREFETCH != 0) share.fetch(terms[0]);
    int turn = 0;
#pragma unroll 1
    for (int first = 0; first < batch.terms; first += BLOCK_K, turn ^= 1) {
      Slab& own = slab[STAGES > 1 ? turn : 0];
      if constexpr (PREFETCH == 0) share.fetch(terms[turn]);
      share.put(own);
      __syncthreads();
      if constexpr (PREFETCH != 0) share.fetch(terms[turn ^ 1]);
      find_terms(terms[turn], graph, batch, first + 2 * BLOCK_K);
      sums.add_slab(own);
      if constexpr (STAGES == 1) __syncthreads();
    }
  }
  sums.store(graph, batch, top, left_column);
}
