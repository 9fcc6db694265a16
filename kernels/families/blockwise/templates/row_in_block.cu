/* cupilot tunable 2
{
  "name": "row_in_block",
  "family": "blockwise",
  "anchor": "local",
  "summary": "a block a row: reductions of its parts one after another, their results in shared memory",
  "provides": ["row_per_block"],
  "parameters": {
    "THREADS": {"name": "block_threads", "technique": "row_per_block", "domain": [32, 64, 128, 256, 512], "plain": 128},
    "TEAM": {"name": "team", "domain": [1, 4, 8, 16, 32, 64, 128, 256, 512], "plain": 32},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1}
  },
  "restrict": [
    "TEAM <= THREADS",
    "MIN_BLOCKS * THREADS <= 2048",
    "64 * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "plan": {
    "require": ["kept_bytes + 1280 <= dev.shared"],
    "let": {"kept_bytes": "up(graph_kept, 4) * 4"},
    "launches": [
      {"name": "main", "entry": "row_in_block", "grid": ["graph_rows"], "block": ["THREADS"], "shared": "kept_bytes",
       "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "each": "cdiv(graph_terms, THREADS)",
      "instructions": "each * (graph_operations + weight.element) + graph_kept * TEAM / THREADS * weight.fold + weight.block"
    },
    "blocks": "graph_rows",
    "threads": "THREADS",
    "registers": "weight.registers",
    "shared_bytes": "kept_bytes",
    "issue": "256 * THREADS / 32 * instructions / 4",
    "fill": "256 * graph_terms * graph_widest / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (each * weight.element_wait + weight.wait)",
    "start": "256 * weight.start",
    "l2": "graph_bytes + graph_rows * graph_terms * graph_widest",
    "dram": "graph_bytes",
    "traits": {"team": "256 * TEAM"}
  }
}
*/
#include "cupilot/team.cuh"

// A block takes a row. Each fold's results are kept in shared memory before the next fold, which
// may read any of them; TEAM threads share a result's terms.
constexpr int TEAMS = THREADS / TEAM;
constexpr int WARPS = THREADS < 32 ? 1 : THREADS / 32;

// Fold K and those after it.
template <int K>
__device__ __forceinline__ void fold_all(const Graph& graph, float* shared) {
  if constexpr (K < FOLDS) {
    using How = typename Combiner<K>::type;
    const long long cells = graph.cells<K>(), length = graph.length<K>();
    const int team = static_cast<int>(threadIdx.x) / TEAM;
    const int member = static_cast<int>(threadIdx.x) % TEAM;
#pragma unroll 1
    for (long long top = 0; top < cells; top += TEAMS) {
      const long long cell = top + team;
      float value = How::nothing();
      if (cell < cells) {
#pragma unroll 1
        for (long long i = member; i < length; i += TEAM)
          value = How::of(value, graph.term<K>(cell, i));
      }
      value = of_team<TEAM, How>(value, shared);
      if (cell < cells && member == 0)
        graph.kept[graph.first_of<K>() + cell] = graph.finish<K>(cell, value);
    }
    __syncthreads();
    fold_all<K + 1>(graph, shared);
  }
}

template <int O>
__device__ __forceinline__ void store_all(const Graph& graph) {
  if constexpr (O < OUTPUTS) {
#pragma unroll 1
    for (long long element = threadIdx.x; element < graph.elements<O>(); element += THREADS)
      graph.store<O>(element);
    store_all<O + 1>(graph);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) row_in_block(GRAPH_PARAMETERS) {
  extern __shared__ __align__(16) float kept[];
  __shared__ float shared[WARPS];
  Graph graph{GRAPH_ARGUMENTS};
  graph.kept = kept;
  graph.row = blockIdx.x;
  fold_all<0>(graph, shared);
  store_all<0>(graph);
}
