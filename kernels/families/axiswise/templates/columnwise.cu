/* cupilot tunable 2
{
  "name": "columnwise",
  "family": "axiswise",
  "anchor": "column_reduction",
  "summary": "an inner dimension reduced: threads side by side take neighbouring results, others above them a share of the terms each",
  "provides": ["register_rows"],
  "parameters": {
    "LANES": {"name": "lanes", "domain": [8, 16, 32, 64, 128, 256], "plain": 32},
    "DEPTH": {"name": "depth", "domain": [1, 2, 4, 8, 16, 32], "plain": 8},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 4, 8, 16], "plain": 4},
    "FIT": {"name": "fit", "domain": [0, 1, 2], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "threads": "LANES * DEPTH",
    "held": "ITEMS * DEPTH"
  },
  "restrict": [
    "VECTOR * graph_widest <= 16",
    "ITEMS * VECTOR <= 64",
    "threads >= 64 && threads <= 1024",
    "MIN_BLOCKS * threads <= 2048",
    "DEPTH == 1 || threads * VECTOR * graph_state * 4 * MIN_BLOCKS <= dev.shared",
    "threads * VECTOR * graph_state * 4 <= 32768",
    "(ITEMS * VECTOR * graph_inputs * graph_widest / 4 + VECTOR * (graph_folds + graph_state) + 36) * MIN_BLOCKS * threads <= dev.registers"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0", "FIT == 0 || graph_cols <= held", "FIT != 2 || graph_cols == held"],
    "let": {
      "groups": "cdiv(graph_rows, LANES * VECTOR)",
      "join_slots": "groups"
    },
    "launches": [
      {"name": "main", "entry": "columnwise", "grid": ["groups"], "block": ["threads"], "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "passes_more": "graph_cols > held ? graph_passes + (graph_elements > 0) - 1 : 0",
      "elements": "cdiv(graph_cols, DEPTH) * VECTOR",
      "instructions": "elements * (graph_operations + weight.element) + cdiv(graph_cols, DEPTH) * weight.term + graph_passes * VECTOR * graph_state * (weight.level * DEPTH + weight.state) + weight.block",
      "again": "passes_more * graph_rows * max(0, graph_cols - held) * graph_widest"
    },
    "blocks": "groups",
    "threads": "threads",
    "registers": "min(weight.registers + VECTOR * (graph_folds + graph_state) + ITEMS * (VECTOR * graph_inputs * graph_widest / 4 + (graph_elements > 0 ? weight.held_registers : 0)), 65536 / (threads * MIN_BLOCKS))",
    "shared_bytes": "threads * VECTOR * graph_state * 4",
    "issue": "256 * threads / 32 * instructions / 4",
    "math": "256 * threads / 32 * elements * graph_operations / 4",
    "fill": "256 * LANES * VECTOR * graph_cols * graph_widest / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + graph_passes * (weight.level_wait * DEPTH + weight.pass_wait) + cdiv(graph_cols, held) * (1 + passes_more) * weight.walk_wait)",
    "start": "256 * (weight.start + (graph_joins > 0 ? weight.join + cdiv(groups, threads) * weight.join_round : 0))",
    "l2": "graph_bytes + again",
    "dram": "graph_bytes + again + graph_bytes * weight.edge_bytes / (LANES * VECTOR * graph_widest)",
    "traits": {"width": "256 * LANES * VECTOR * graph_widest", "idle": "256 * held / graph_cols"}
  }
}
*/
// LANES threads side by side take VECTOR neighbouring rows each, so that a warp reads what lies
// together; DEPTH of them one above the other share each row's terms. The first ITEMS terms of a
// thread stay in registers, what is longer is read again by each pass, ITEMS at a time. FIT 1:
// there are no more. FIT 2: there are as many. Code for others is left out, since what it needs
// would take registers from all.
#include "cupilot/team.cuh"
#include "cupilot/joined.cuh"

constexpr int BLOCK = LANES * DEPTH;
constexpr int WIDTH = LANES * VECTOR;  // rows of a block

// Terms of a thread that it loads together beyond those that it holds: a few where it goes on
// holding these.
constexpr bool HOLDS = PASSES > 1 || STORES_ELEMENTS;
constexpr int MORE = HOLDS && ITEMS * VECTOR > 16 ? 16 / VECTOR : ITEMS;

template <class Values, int COUNT>
struct Items {
  Values at[COUNT];
};
using Held = Items<Graph::Values<VECTOR>, ITEMS>;

// Takes what `load(column)` gives for the next COUNT terms of a thread's share; the first is
// `column`. CHECKED: some may be past the end.
template <bool CHECKED, class Values, int COUNT, class Load>
__device__ __forceinline__ void load_items(const Graph& graph, long long column, Load load,
                                           Items<Values, COUNT>& to) {
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    if (!CHECKED || column + k * DEPTH < graph.all_columns()) to.at[k] = load(column + k * DEPTH);
  }
}

// Calls `each(column, values)` for them.
template <bool CHECKED, class Values, int COUNT, class Each>
__device__ __forceinline__ void for_items(const Graph& graph, long long column,
                                          const Items<Values, COUNT>& items, Each each) {
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    if (!CHECKED || column + k * DEPTH < graph.all_columns()) each(column + k * DEPTH, items.at[k]);
  }
}

// Calls `each(column, loaded)` for the terms of a thread's share that it does not hold.
template <class Load, class Each>
__device__ __forceinline__ void for_others(const Graph& graph, int depth, Load load, Each each) {
  if constexpr (FIT == 0) {
    using More = Items<decltype(load(0)), MORE>;
    long long column = ITEMS * DEPTH + depth;
#pragma unroll 1
    for (; column + (MORE - 1) * DEPTH < graph.all_columns(); column += MORE * DEPTH) {
      More more;
      load_items<false>(graph, column, load, more);
      for_items<false>(graph, column, more, each);
    }
    if (column < graph.all_columns()) {
      More more;
      load_items<true>(graph, column, load, more);
      for_items<true>(graph, column, more, each);
    }
  }
}

// Combines what the DEPTH threads of each row have, in an order that does not depend on timing.
template <class How>
__device__ __forceinline__ void combine_depth(typename How::State (&states)[VECTOR], int lane,
                                              int depth, float* shared) {
  if constexpr (DEPTH > 1) {
    constexpr int SIZE = How::SIZE;
#pragma unroll
    for (int i = 0; i < VECTOR * SIZE; ++i)
      shared[(depth * VECTOR * SIZE + i) * LANES + lane] = states[i / SIZE].of[i % SIZE];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < VECTOR; ++i) {
#pragma unroll
      for (int other = 0; other < DEPTH; ++other) {
        typename How::State more;
#pragma unroll
        for (int j = 0; j < SIZE; ++j)
          more.of[j] = shared[((other * VECTOR + i) * SIZE + j) * LANES + lane];
        states[i] = other == 0 ? more : How::of(states[i], more);
      }
    }
    __syncthreads();
  }
}

// Pass P and those after it.
template <int P>
__device__ __forceinline__ void fold_all(const Graph& graph, Graph::Rows<VECTOR>& at, int lane,
                                         int depth, const Held& held, float* shared) {
  if constexpr (P < PASSES) {
    using How = Pass<P>;
    typename How::State states[VECTOR];
#pragma unroll
    for (int i = 0; i < VECTOR; ++i) states[i] = How::nothing();
    const auto add = [&](long long column, const Graph::Values<VECTOR>& values) {
      graph.fold<P, VECTOR>(at, column, values, states);
    };
    for_items<FIT != 2>(graph, depth, held, add);
    for_others(
        graph, depth, [&](long long column) { return graph.load<VECTOR>(at, column); }, add);
    combine_depth<How>(states, lane, depth, shared);
    graph.finish<P, VECTOR>(at, states);
    fold_all<P + 1>(graph, at, lane, depth, held, shared);
  }
}

// Computes and stores a thread's elements. What these alone read is loaded here, MORE at a time.
__device__ __forceinline__ void store_elements(const Graph& graph, const Graph::Rows<VECTOR>& at,
                                               int depth, const Held& held) {
  const auto put = [&](long long column, const Graph::All<VECTOR>& all) {
    graph.store<VECTOR>(at, column, all);
  };
#pragma unroll
  for (int first = 0; first < ITEMS; first += MORE) {
    const long long top = depth + first * DEPTH;
    Items<Graph::All<VECTOR>, MORE> all;
#pragma unroll
    for (int k = 0; k < MORE; ++k) {
      const long long column = top + k * DEPTH;
      if (FIT == 2 || column < graph.all_columns())
        all.at[k] = graph.complete<VECTOR>(at, column, held.at[first + k]);
    }
    for_items<FIT != 2>(graph, top, all, put);
  }
  for_others(
      graph, depth, [&](long long column) { return graph.load_all<VECTOR>(at, column); }, put);
}

extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS) columnwise(GRAPH_PARAMETERS) {
  __shared__ float shared[DEPTH > 1 ? BLOCK * VECTOR * MOST_STATE : 1];
  const Graph graph{GRAPH_ARGUMENTS};
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const int depth = static_cast<int>(threadIdx.x) / LANES;
  const long long row = static_cast<long long>(blockIdx.x) * WIDTH + lane * VECTOR;
  // A thread without rows works on the last ones and keeps its results to itself.
  const bool valid = row < graph.all_rows();
  auto at = graph.rows_at<VECTOR>(valid ? row : graph.all_rows() - VECTOR);
  Held held;
  load_items<FIT != 2>(
      graph, depth, [&](long long column) { return graph.load<VECTOR>(at, column); }, held);
  fold_all<0>(graph, at, lane, depth, held, shared);
  if constexpr (STORES_ELEMENTS) {
    if (valid) store_elements(graph, at, depth, held);
  }
  JoinShare share;
  begin_share(share);
  if (valid && depth == 0) {
    graph.store_row<VECTOR>(at);
    join_row(graph, at, share);
  }
  if constexpr (JOINS > 0) {
    __shared__ float joined[BLOCK / 32];
    join_blocks<BLOCK>(graph, share, blockIdx.x, gridDim.x, joined);
  }
}
