/* cupilot tunable 2
{
  "name": "rows_in_parts",
  "family": "axiswise",
  "anchor": "row_reduction",
  "summary": "long rows reduced by several blocks each: a launch a pass, whose last block finishes it, and one for the elements",
  "provides": ["rows_in_parts"],
  "requires": ["rows_in_parts"],
  "parameters": {
    "PARTS": {"name": "parts", "technique": "rows_in_parts", "domain": [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], "plain": 16},
    "THREADS": {"name": "threads", "domain": [128, 256, 512, 1024], "plain": 256},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 4, 8], "plain": 4},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "restrict": [
    "VECTOR * graph_widest <= 16",
    "ITEMS * VECTOR <= 64",
    "MIN_BLOCKS * THREADS <= 2048",
    "(ITEMS * VECTOR * graph_inputs * graph_widest / 4 + 36) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0"],
    "let": {
      "chunk": "up(cdiv(graph_cols, PARTS), VECTOR)",
      "parts_used": "cdiv(graph_cols, chunk)",
      "join_slots": "graph_rows"
    },
    "buffers": [
      {"name": "partial", "bytes": "graph_rows * PARTS * graph_state * 4"},
      {"name": "folded", "bytes": "graph_rows * graph_folds * 4"},
      {"name": "arrived", "bytes": "graph_rows * 4", "content": "restored"}
    ],
    "launches": [
      {"name": "fold", "entry": "fold_part<{PASS}>", "grid": ["parts_used * graph_rows"], "block": ["THREADS"],
       "args": ["graph", "partial", "folded", "arrived", {"i64": "chunk"}, {"i32": "parts_used"}]},
      {"name": "elements", "entry": "store_part<1>", "grid": ["parts_used * graph_rows"], "block": ["THREADS"],
       "args": ["graph", "folded", {"i64": "chunk"}, {"i32": "parts_used"}]}
    ]
  },
  "model": {
    "let": {
      "passes": "graph_passes + (graph_elements > 0)",
      "elements": "cdiv(chunk, THREADS)",
      "operations": "graph_operations / passes",
      "instructions": "elements * (operations + weight.element) + weight.block"
    },
    "blocks": "parts_used * graph_rows",
    "threads": "THREADS",
    "registers": "min(weight.registers + ITEMS * VECTOR * graph_inputs * graph_widest / 4, 65536 / (THREADS * MIN_BLOCKS))",
    "rounds": "256 * passes",
    "issue": "256 * THREADS / 32 * instructions / 4",
    "math": "256 * THREADS / 32 * elements * operations / 4",
    "fill": "256 * chunk * graph_widest / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.pass_wait + cdiv(chunk, THREADS * VECTOR * ITEMS) * weight.walk_wait + PARTS)",
    "start": "256 * (weight.start + (graph_joins > 0 ? weight.join + cdiv(graph_rows, THREADS) * weight.join_round : 0))",
    "launches": "passes",
    "l2": "graph_bytes + (passes - 1) * graph_rows * graph_cols * graph_widest",
    "dram": "graph_bytes + (graph_bytes > dev.l2 ? (passes - 1) * graph_rows * graph_cols * graph_widest : 0)",
    "traits": {"width": "256 * VECTOR * graph_widest", "split": "256 * PARTS"}
  }
}
*/
// A row is cut into parts of `chunk` terms, a block each. The last block of a row to arrive
// combines the parts of all in their order and keeps the folds' results for the launches that
// follow.
#include "cupilot/team.cuh"
#include "cupilot/joined.cuh"

constexpr int WARPS = THREADS / 32;

constexpr int STEP = THREADS * VECTOR;

// Calls `each(column, loaded)` with what `load(column)` gives, for ITEMS vectors of a thread's
// share, the first at `top`. CHECKED: some may be past the end.
template <bool CHECKED, class Load, class Each>
__device__ __forceinline__ void for_items(long long top, long long end, Load load, Each each) {
  decltype(load(top)) loaded[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (!CHECKED || top + k * STEP < end) loaded[k] = load(top + k * STEP);
  }
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (!CHECKED || top + k * STEP < end) each(top + k * STEP, loaded[k]);
  }
}

// Does so for all of a thread's share, ITEMS loads at a time.
template <class Load, class Each>
__device__ __forceinline__ void for_share(long long begin, long long end, Load load, Each each) {
  long long top = begin + static_cast<int>(threadIdx.x) * VECTOR;
#pragma unroll 1
  for (; top + (ITEMS - 1) * STEP < end; top += ITEMS * STEP)
    for_items<false>(top, end, load, each);
  if (top < end) for_items<true>(top, end, load, each);
}

// Results of folds before K.
template <int K, int ALL>
__device__ __forceinline__ void read_folds(const Graph& graph, Graph::Row& at,
                                           const float* folded) {
  if constexpr (K < ALL) {
    graph.keep<K>(at, folded[K * graph.all_rows() + at.row]);
    read_folds<K + 1, ALL>(graph, at, folded);
  }
}

// Results of folds K to ALL - 1.
template <int K, int ALL>
__device__ __forceinline__ void write_folds(const Graph& graph, const Graph::Row& at,
                                            float* folded) {
  if constexpr (K < ALL) {
    folded[K * graph.all_rows() + at.row] = graph.kept<K>(at);
    write_folds<K + 1, ALL>(graph, at, folded);
  }
}

template <int P>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    fold_part(GRAPH_PARAMETERS, float* partial, float* folded, unsigned* arrived, long long chunk,
              int parts) {
  using How = Pass<P>;
  __shared__ float shared[WARPS * MOST_STATE];
  __shared__ bool last;
  const Graph graph{GRAPH_ARGUMENTS};
  Graph::Row at = {static_cast<long long>(blockIdx.x) / parts};
  const int own = static_cast<int>(blockIdx.x % parts);
  read_folds<0, How::FIRST>(graph, at, folded);
  const long long begin = own * chunk;
  auto state = How::nothing();
  for_share(
      begin, min(begin + chunk, graph.all_columns()),
      [&](long long column) { return graph.load<VECTOR>(at, column); },
      [&](long long column, const Graph::Values<VECTOR>& values) {
        graph.fold<P, VECTOR>(at, column, values, state);
      });
  state = of_team<THREADS, How>(state, shared);
  float* parts_of_row = partial + at.row * PARTS * How::SIZE;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int i = 0; i < How::SIZE; ++i) parts_of_row[own * How::SIZE + i] = state.of[i];
    __threadfence();  // the part is visible before the arrival is
    last = atomicAdd(arrived + at.row, 1u) == static_cast<unsigned>(parts - 1);
    if (last) atomicExch(arrived + at.row, 0u);
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  state = How::nothing();
  for (int part = static_cast<int>(threadIdx.x); part < parts; part += THREADS) {
    typename How::State other;
#pragma unroll
    for (int i = 0; i < How::SIZE; ++i) {
      // .cg: past L1, which other blocks' stores do not reach
      asm volatile("ld.global.cg.f32 %0, [%1];"
                   : "=f"(other.of[i])
                   : "l"(parts_of_row + part * How::SIZE + i)
                   : "memory");
    }
    state = How::of(state, other);
  }
  graph.finish<P>(at, of_team<THREADS, How>(state, shared));
  JoinShare share;
  begin_share(share);
  if (threadIdx.x == 0) {
    write_folds<How::FIRST, How::END>(graph, at, folded);
    if constexpr (P == PASSES - 1) {
      graph.store_row(at);
      join_row(graph, at, share);
    }
  }
  if constexpr (JOINS > 0 && P == PASSES - 1)
    join_blocks<THREADS>(graph, share, at.row, graph.all_rows(), shared);
}

// A template, so that it is there only where a launch names it.
template <int>
__global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    store_part(GRAPH_PARAMETERS, const float* folded, long long chunk, int parts) {
  const Graph graph{GRAPH_ARGUMENTS};
  const unsigned block = gridDim.x - 1 - blockIdx.x;  // L2 has what the folds read last
  Graph::Row at = {static_cast<long long>(block) / parts};
  const int own = static_cast<int>(block % parts);
  read_folds<0, FOLDS>(graph, at, folded);
  const long long begin = own * chunk;
  for_share(
      begin, min(begin + chunk, graph.all_columns()),
      [&](long long column) { return graph.load_all<VECTOR>(at, column); },
      [&](long long column, const Graph::All<VECTOR>& all) {
        graph.store<VECTOR>(at, column, all);
      });
}
