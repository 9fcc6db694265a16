/* cupilot tunable 2
{
  "name": "window_wgmma",
  "family": "windowed",
  "anchor": "contraction",
  "summary": "a convolution as a product of matrices by wgmma, for sm_90a: elements of x go straight to the registers that are multiplied, weights to shared memory",
  "provides": ["implicit_wgmma"],
  "requires": ["implicit_wgmma"],
  "when": ["class.tf32 || class.fp32_emulated || class.bf16x3 || class.bf16 || class.fp16"],
  "parameters": {
    "GROUPS_M": {"name": "groups", "technique": "implicit_wgmma", "domain": [1, 2, 3, 4], "plain": 2},
    "PARTS": {"name": "parts", "technique": "implicit_wgmma", "domain": [1, 2], "plain": 1},
    "BLOCK_N": {"name": "tile_n", "technique": "implicit_wgmma", "domain": [8, 16, 24, 32, 48, 64, 96, 128], "plain": 64},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [16, 32], "plain": 16},
    "PREFETCH": {"name": "register_prefetch", "technique": "register_prefetch", "domain": [0, 1], "plain": 0},
    "AHEAD": {"name": "ahead", "technique": "implicit_wgmma", "domain": [1, 2], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1}
  },
  "let": {
    "threads": "128 * GROUPS_M",
    "elements_a": "PARTS * BLOCK_K / 2",
    "quads_b": "cdiv(BLOCK_N * BLOCK_K, 4 * threads)",
    "sums": "PARTS * BLOCK_N / 2",
    "slab_bytes": "BLOCK_N * 128 * graph_planes",
    "held": "sums + elements_a * (graph_planes + PREFETCH * AHEAD) + PREFETCH * AHEAD * 4 * quads_b + 6 * PARTS + 3 * quads_b + 28"
  },
  "restrict": [
    "dev.cc == 90",
    "PREFETCH == 1 || AHEAD == 1",
    "held <= 255",
    "held * threads * MIN_BLOCKS <= dev.registers",
    "(2 * slab_bytes + 2048) * MIN_BLOCKS <= dev.shared"
  ],
  "registers": "held",
  "plan": {
    "require": ["graph_largest <= 2147483648"],
    "let": {
      "tiles": "cdiv(graph_m, 64 * PARTS * GROUPS_M) * cdiv(graph_n, BLOCK_N)",
      "slabs": "cdiv(graph_k, BLOCK_K)"
    },
    "launches": [
      {"name": "main", "entry": "window_wgmma", "grid": ["tiles * graph_batch"], "block": ["threads"], "shared": "2 * slab_bytes + 1024", "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "warps": "4 * GROUPS_M",
      "products": "graph_planes == 2 ? 3 : 1",
      "fetches": "elements_a + 4 * quads_b",
      "phased": "min(8, graph_store_step)",
      "near": "sums * (graph_row_operations + weight.result + weight.strided * phased)",
      "rate": "dev.ops.tf32 > 0 ? dev.ops.tf32 : weight.rate"
    },
    "blocks": "tiles * graph_batch",
    "threads": "threads",
    "registers": "min(held, dev.registers / (threads * MIN_BLOCKS))",
    "shared_bytes": "2 * slab_bytes + 2048",
    "rounds": "256 * slabs / graph_phases",
    "math": "256 * GROUPS_M * PARTS * products * 128 * BLOCK_N * BLOCK_K / rate",
    "issue": "256 * warps * (fetches * weight.fetch + elements_a * graph_operand_operations + (graph_planes - 1) * fetches * weight.split + quads_b * weight.quad + PARTS * BLOCK_K / 8 * weight.product + weight.slab) / weight.issued",
    "shared": "256 * (warps * (quads_b * 4 * graph_planes + fetches * weight.fetch_passes / 100) + GROUPS_M * PARTS * products * BLOCK_N * BLOCK_K / 32)",
    "fill": "256 * warps * fetches * 128 / weight.fill_bytes",
    "chain": "256 * (weight.wait + fetches * weight.fetch_wait + PARTS * products * BLOCK_N * BLOCK_K / 16)",
    "latency": "256 * (PREFETCH ? weight.ahead_latency : weight.latency)",
    "ahead": "PREFETCH * AHEAD",
    "ends": "256 * cdiv(tiles * graph_batch, dev.sms) * (warps * near / 4 + weight.end / max(1, MIN_BLOCKS))",
    "start": "256 * weight.start",
    "l2": "graph_bytes + 4 * graph_batch * graph_m * graph_n * (phased - 1) * weight.strided_l2 / 100 + tiles * graph_batch * slabs / graph_phases * (64 * PARTS * GROUPS_M * min(8, graph_load_step) + BLOCK_N) * BLOCK_K * graph_widest / weight.l1_reuse",
    "dram": "graph_bytes + (phased > 1 ? weight.strided_dram * graph_batch * graph_m * graph_n : 0)",
    "traits": {"tile": "256 * sums", "slab": "256 * BLOCK_K", "groups": "256 * GROUPS_M"}
  }
}
*/
// A block computes 64 PARTS GROUPS_M places by BLOCK_N channels, each warpgroup 64 PARTS of the
// places. It walks the terms in slabs of BLOCK_K. A lane loads the elements that it multiplies, of
// places g and g + 8 of its warp's rows and of every fourth term; the factors of channels come to
// shared memory, whose next slab is filled while this one is multiplied. Loads of DISTANCE slabs
// are under way in registers.
#include "cupilot/async_copy.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/planes.cuh"

constexpr int THREADS = 128 * GROUPS_M;
constexpr int QUADS = BLOCK_K / 4, HALVES = BLOCK_K / 16;
constexpr int EACH_B = (BLOCK_N * QUADS + THREADS - 1) / THREADS;
constexpr int DISTANCE = PREFETCH != 0 ? AHEAD : 0, KEPT = PREFETCH != 0 ? AHEAD : 1;
using Terms = Graph::Terms<BLOCK_K>;

// Terms of a slab: for the left factor those of a lane's two multiply-adds lie together.
struct SlabTerms {
  Terms left, right;

  __device__ __forceinline__ void find(const Graph& graph, const Graph::Batch& batch, int first) {
    const int k = static_cast<int>(threadIdx.x);
    if (k >= BLOCK_K) return;
    const Graph::Term term = graph.term_place(batch, first + k);
    left.keep(k / 16 * 16 + k % 4 * 4 + k / 8 % 2 * 2 + k / 4 % 2, term);
    right.keep(k, term);
  }
};

// Channels of a slab: lines of 128 bytes with the swizzle of that width.
struct Slab {
  uint4 channels[PLANES][BLOCK_N * 8];
};

// Loaded elements of one slab.
struct Loaded {
  float a[2 * PARTS][HALVES][4], b[EACH_B][4];
};

struct Share {
  const Graph& graph;
  Graph::Left places[2 * PARTS];
  Graph::Right channels[EACH_B];

  static __device__ __forceinline__ int index_b(int i) {
    return static_cast<int>(threadIdx.x) + i * THREADS;
  }
  static __device__ __forceinline__ bool has_b(int i) {
    return BLOCK_N * QUADS % THREADS == 0 || index_b(i) < BLOCK_N * QUADS;
  }
  // Row of a lane's first place, and of each further one.
  static __device__ __forceinline__ int row_a(int i) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    return (warp / 4 * PARTS + i / 2) * 64 + warp % 4 * 16 + lane / 4 + i % 2 * 8;
  }
  __device__ __forceinline__ Share(const Graph& all, const Graph::Batch& batch, int top,
                                   int left_column)
      : graph(all) {
#pragma unroll
    for (int i = 0; i < 2 * PARTS; ++i) places[i] = graph.left_place(batch, top + row_a(i));
#pragma unroll
    for (int i = 0; i < EACH_B; ++i)
      channels[i] = graph.right_place(batch, left_column + index_b(i) / QUADS);
  }
  __device__ __forceinline__ void fetch(const SlabTerms& terms, Loaded& to) const {
    const int lane = static_cast<int>(threadIdx.x) % 4 * 4;
#pragma unroll
    for (int h = 0; h < HALVES; ++h) {
#pragma unroll
      for (int i = 0; i < 2 * PARTS; ++i)
        graph.left_factors(places[i], terms.left, h * 16 + lane, to.a[i][h]);
    }
#pragma unroll
    for (int i = 0; i < EACH_B; ++i) {
      if (has_b(i)) graph.right_factors(channels[i], terms.right, index_b(i) % QUADS * 4, to.b[i]);
    }
  }
  static __device__ __forceinline__ void put(Loaded& from, Slab& slab) {
#pragma unroll
    for (int i = 0; i < EACH_B; ++i) {
      if (!has_b(i)) continue;
      const int row = index_b(i) / QUADS, word = index_b(i) % QUADS;
#pragma unroll
      for (int plane = 0; plane < PLANES; ++plane)
        slab.channels[plane][row * 8 + (word ^ (row & 7))] = plane_of(from.b[i]);
    }
  }
};

// A lane's operands of a slab's multiply-adds.
struct Operands {
  unsigned at[PLANES][PARTS][2 * HALVES][4];

  __device__ __forceinline__ void take(Loaded& from) {
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
#pragma unroll
        for (int step = 0; step < 2 * HALVES; ++step) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            at[plane][part][step][i] =
                plane_of(from.a[2 * part + i % 2][step / 2][step % 2 * 2 + i / 2]);
        }
      }
    }
  }
  // Keeps the compiler from making them behind the fence.
  __device__ __forceinline__ void settle_all() {
#pragma unroll
    for (int i = 0; i < PLANES * PARTS * 2 * HALVES * 4; ++i)
      asm volatile("" : "+r"((&at[0][0][0][0])[i])::"memory");
  }
};

struct Sums {
  float at[PARTS][BLOCK_N / 2];

  __device__ __forceinline__ Sums() {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int i = 0; i < BLOCK_N / 2; ++i) at[part][i] = 0.0f;
    }
  }
  __device__ __forceinline__ void add(const Operands& operands, const Slab& slab, int of_a,
                                      int of_b) {
    const unsigned long long channels = tile_descriptor(shared_address(slab.channels[of_b]), 0);
#pragma unroll
    for (int step = 0; step < 2 * HALVES; ++step) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part)
        Wgmma<BLOCK_N>::template multiply_tf32<true>(at[part], operands.at[of_a][part][step],
                                                     channels + step * 2);
    }
  }
  __device__ __forceinline__ void settle_all() {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) settle(at[part]);
  }
  __device__ __forceinline__ void store(const Graph& graph, const Graph::Batch& batch, int top,
                                        int left_column) const {
    const int first = left_column + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2 * PARTS; ++i) {
      const Graph::Left left = graph.left_place(batch, top + Share::row_a(i));
      if (!left.present) continue;
#pragma unroll
      for (int j = 0; j < BLOCK_N / 4; ++j) {
        const Graph::Right right = graph.right_place(batch, first + j / 2 * 8 + j % 2);
        if (right.present) graph.store(left, right, at[i / 2][j / 2 * 4 + i % 2 * 2 + j % 2]);
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) window_wgmma(GRAPH_PARAMETERS) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ SlabTerms terms[2];
  Slab* const slab =
      reinterpret_cast<Slab*>(memory + (1024 - shared_address(memory) % 1024) % 1024);
  const Graph graph{GRAPH_ARGUMENTS};
  const int across = (graph.n_count() + BLOCK_N - 1) / BLOCK_N, batches = graph.batches();
  const int tile = static_cast<int>(blockIdx.x) / batches;
  const Graph::Batch batch = graph.batch_place(static_cast<int>(blockIdx.x) % batches);
  const int top = tile / across * (64 * PARTS * GROUPS_M), left_column = tile % across * BLOCK_N;
  Sums sums;
  {
    const Share share(graph, batch, top, left_column);
    Loaded loaded[KEPT];
    terms[0].find(graph, batch, 0);
    if constexpr (DISTANCE == 0) terms[1].find(graph, batch, BLOCK_K);
    __syncthreads();
#pragma unroll
    for (int ahead = 0; ahead < DISTANCE; ++ahead) {
      share.fetch(terms[ahead % 2], loaded[ahead]);
      terms[(ahead + 1) % 2].find(graph, batch, (ahead + 1) * BLOCK_K);
      __syncthreads();
    }
    int turn = 0;
#pragma unroll 1
    for (int round = 0; round < batch.terms; round += KEPT * BLOCK_K) {
#pragma unroll
      for (int kept = 0; kept < KEPT; ++kept, turn ^= 1) {
        const int first = round + kept * BLOCK_K;
        if (first >= batch.terms) break;
        if constexpr (DISTANCE == 0) share.fetch(terms[turn], loaded[kept]);
        Operands operands;
        operands.take(loaded[kept]);
        Share::put(loaded[kept], slab[turn]);
        fence_for_copies();
        __syncthreads();
        operands.settle_all();
        sums.settle_all();
        multiply_fence();
        if constexpr (PLANES > 1) {
          sums.add(operands, slab[turn], 1, 0);
          sums.add(operands, slab[turn], 0, 1);
        }
        sums.add(operands, slab[turn], 0, 0);
        multiply_commit();
        if constexpr (DISTANCE > 0) share.fetch(terms[(turn + DISTANCE) % 2], loaded[kept]);
        terms[(turn + KEPT + 1) % 2].find(graph, batch, first + (KEPT + 1) * BLOCK_K);
        multiply_wait<0>();
        sums.settle_all();
      }
    }
  }
  sums.store(graph, batch, top, left_column);
}
