/* cupilot tunable 2
{
  "name": "window_product",
  "family": "windowed",
  "anchor": "contraction",
  "summary": "a convolution as a product of matrices whose elements are found where they lie: tiles in shared memory, thread tiles in registers",
  "provides": ["implicit_product"],
  "requires": ["implicit_product"],
  "parameters": {
    "BLOCK_M": {"name": "block_m", "technique": "implicit_product", "domain": [32, 64, 128], "plain": 64},
    "BLOCK_N": {"name": "block_n", "technique": "implicit_product", "domain": [8, 16, 32, 64, 128], "plain": 32},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [4, 8, 16, 32], "plain": 8},
    "THREAD_M": {"name": "thread_m", "domain": [1, 2, 4, 8], "plain": 2},
    "THREAD_N": {"name": "thread_n", "domain": [1, 2, 4, 8], "plain": 4},
    "PREFETCH": {"name": "register_prefetch", "technique": "register_prefetch", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1}
  },
  "let": {
    "threads": "(BLOCK_M / THREAD_M) * (BLOCK_N / THREAD_N)",
    "each": "(BLOCK_M + BLOCK_N) * BLOCK_K / threads"
  },
  "restrict": [
    "THREAD_M <= BLOCK_M / 16 && THREAD_N <= BLOCK_N",
    "threads >= 32 && threads <= 512 && threads % 32 == 0",
    "threads % BLOCK_M == 0 || BLOCK_M % threads == 0",
    "BLOCK_M * BLOCK_K % threads == 0 && threads % BLOCK_K == 0 && BLOCK_N * BLOCK_K >= threads / 4",
    "(THREAD_M * THREAD_N + THREAD_M + THREAD_N + PREFETCH * each + 48) * MIN_BLOCKS * threads <= dev.registers",
    "THREAD_M * THREAD_N + THREAD_M + THREAD_N + PREFETCH * each + 48 <= 255",
    "((BLOCK_M + BLOCK_N + 4) * BLOCK_K * 4 + BLOCK_K * 48) * MIN_BLOCKS <= dev.shared"
  ],
  "plan": {
    "require": ["graph_largest <= 2147483648"],
    "let": {
      "tiles": "cdiv(graph_m, BLOCK_M) * cdiv(graph_n, BLOCK_N)",
      "slabs": "cdiv(graph_k, BLOCK_K)"
    },
    "launches": [
      {"name": "main", "entry": "window_product", "grid": ["tiles * graph_batch"], "block": ["threads"], "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "products": "THREAD_M * THREAD_N",
      "near": "products * (graph_row_operations + weight.result)",
      "filled": "(BLOCK_M + BLOCK_N) * BLOCK_K"
    },
    "blocks": "tiles * graph_batch",
    "threads": "threads",
    "registers": "min(weight.registers + products + THREAD_M + THREAD_N + PREFETCH * each, 65536 / (threads * MIN_BLOCKS))",
    "shared_bytes": "(BLOCK_M + BLOCK_N + 4) * BLOCK_K * 4 + BLOCK_K * 48",
    "rounds": "256 * slabs / graph_phases",
    "math": "256 * threads / 32 * products * BLOCK_K / 4",
    "issue": "256 * threads / 32 * (products * BLOCK_K + (THREAD_M + THREAD_N) * BLOCK_K + each * weight.fetch + BLOCK_M * BLOCK_K / threads * graph_operand_operations) / 4",
    "shared": "256 * threads / 32 * (THREAD_M + THREAD_N + 2) * BLOCK_K",
    "fill": "256 * filled * graph_widest / weight.fill_bytes",
    "chain": "256 * (weight.wait + each * weight.fetch_wait + BLOCK_K * weight.step_wait)",
    "latency": "256 * (PREFETCH ? weight.ahead_latency : weight.latency)",
    "ahead": "PREFETCH",
    "ends": "256 * cdiv(tiles * graph_batch, dev.sms) * threads / 32 * near / 4",
    "start": "256 * weight.start",
    "l2": "graph_bytes + tiles * graph_batch * slabs / graph_phases * filled * graph_widest",
    "dram": "graph_bytes",
    "traits": {"tile": "256 * BLOCK_M * BLOCK_N / 64", "slab": "256 * BLOCK_K"}
  }
}
*/
// A block computes BLOCK_M places by BLOCK_N channels. It walks the terms in slabs of BLOCK_K,
// which it brings to shared memory with the terms outermost; threads side by side take neighbouring
// places, so that what lies outside costs no element and results leave side by side.
constexpr int LANES_M = BLOCK_M / THREAD_M;
constexpr int THREADS = LANES_M * (BLOCK_N / THREAD_N);
constexpr int EACH_A = BLOCK_M * BLOCK_K / THREADS;
constexpr int EACH_B = (BLOCK_N * BLOCK_K + THREADS - 1) / THREADS;
constexpr int PITCH_B = BLOCK_N + 4;
using Terms = Graph::Terms<BLOCK_K>;

struct Slab {
  float a[BLOCK_K][BLOCK_M];
  float b[BLOCK_K][PITCH_B];
};

// A thread's share of a slab: neighbouring threads take neighbouring places of A and neighbouring
// terms of B. The terms of a slab are found by a few threads for all.
struct Share {
  const Graph& graph;
  const Graph::Batch& batch;
  int top, left_column;
  Graph::Left first;  // of this thread's place where that is the same for all its elements
  float a[EACH_A], b[EACH_B];

  __device__ __forceinline__ Share(const Graph& all, const Graph::Batch& of_batch, int row,
                                   int column)
      : graph(all), batch(of_batch), top(row), left_column(column) {
    first = graph.left_place(batch, top + static_cast<int>(threadIdx.x) % BLOCK_M);
  }
  static __device__ __forceinline__ int place(int i) {
    return (static_cast<int>(threadIdx.x) + i * THREADS) % BLOCK_M;
  }
  __device__ __forceinline__ void find(Terms& terms, int first_term) const {
    const int own = static_cast<int>(threadIdx.x);
    if (own < BLOCK_K) terms.keep(own, graph.term_place(batch, first_term + own));
  }
  __device__ __forceinline__ void fetch(const Terms& terms) {
#pragma unroll
    for (int i = 0; i < EACH_A; ++i) {
      const Graph::Term term = terms.at((static_cast<int>(threadIdx.x) + i * THREADS) / BLOCK_M);
      if constexpr (THREADS % BLOCK_M == 0) {
        a[i] = graph.left_factor(first, term);
      } else {
        a[i] = graph.left_factor(graph.left_place(batch, top + place(i)), term);
      }
    }
#pragma unroll
    for (int i = 0; i < EACH_B; ++i) {
      const int index = static_cast<int>(threadIdx.x) + i * THREADS;
      b[i] = 0.0f;
      if (index < BLOCK_N * BLOCK_K)
        b[i] = graph.right_factor(graph.right_place(batch, left_column + index / BLOCK_K),
                                  terms.at(index % BLOCK_K));
    }
  }
  __device__ __forceinline__ void put(Slab& slab) const {
#pragma unroll
    for (int i = 0; i < EACH_A; ++i)
      slab.a[(static_cast<int>(threadIdx.x) + i * THREADS) / BLOCK_M][place(i)] = a[i];
#pragma unroll
    for (int i = 0; i < EACH_B; ++i) {
      const int index = static_cast<int>(threadIdx.x) + i * THREADS;
      if (index < BLOCK_N * BLOCK_K) slab.b[index % BLOCK_K][index / BLOCK_K] = b[i];
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) window_product(GRAPH_PARAMETERS) {
  __shared__ Slab slab;
  __shared__ Terms terms[2];
  const Graph graph{GRAPH_ARGUMENTS};
  const int across = (graph.n_count() + BLOCK_N - 1) / BLOCK_N, batches = graph.batches();
  const int tile = static_cast<int>(blockIdx.x) / batches;
  const Graph::Batch batch = graph.batch_place(static_cast<int>(blockIdx.x) % batches);
  const int top = tile / across * BLOCK_M, left_column = tile % across * BLOCK_N;
  const int lane_m = static_cast<int>(threadIdx.x) % LANES_M;
  const int lane_n = static_cast<int>(threadIdx.x) / LANES_M;
  float sum[THREAD_M][THREAD_N] = {};
  Share share(graph, batch, top, left_column);
  share.find(terms[0], 0);
  if constexpr (PREFETCH != 0) {
    share.find(terms[1], BLOCK_K);
    __syncthreads();
    share.fetch(terms[0]);
  }
  __syncthreads();
  int turn = 0;
#pragma unroll 1
  for (int first_term = 0; first_term < batch.terms; first_term += BLOCK_K, turn ^= 1) {
    if constexpr (PREFETCH == 0) share.fetch(terms[turn]);
    share.put(slab);
    __syncthreads();
    if constexpr (PREFETCH != 0) {
      share.fetch(terms[turn ^ 1]);
      share.find(terms[turn], first_term + 2 * BLOCK_K);
    } else {
      share.find(terms[turn ^ 1], first_term + BLOCK_K);
    }
#pragma unroll
    for (int k = 0; k < BLOCK_K; ++k) {
      float a[THREAD_M], b[THREAD_N];
#pragma unroll
      for (int i = 0; i < THREAD_M; ++i) a[i] = slab.a[k][lane_m + i * LANES_M];
#pragma unroll
      for (int j = 0; j < THREAD_N; ++j) b[j] = slab.b[k][lane_n * THREAD_N + j];
#pragma unroll
      for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
        for (int j = 0; j < THREAD_N; ++j) sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < THREAD_M; ++i) {
    const Graph::Left left = graph.left_place(batch, top + lane_m + i * LANES_M);
    if (!left.present) continue;
#pragma unroll
    for (int j = 0; j < THREAD_N; ++j) {
      const Graph::Right right = graph.right_place(batch, left_column + lane_n * THREAD_N + j);
      if (right.present) graph.store(left, right, sum[i][j]);
    }
  }
}
