/* cupilot tunable 2
{
  "name": "rowwise",
  "family": "rowwise",
  "anchor": "row_reduction",
  "summary": "rows reduced and finished by teams of threads, the start of each row in registers",
  "provides": ["register_rows"],
  "parameters": {
    "TEAM": {"name": "team", "domain": [8, 16, 32, 64, 128, 256, 512, 1024], "plain": 256},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 3, 4, 6, 8, 12, 16], "plain": 1},
    "FIT": {"name": "fit", "domain": [0, 1, 2], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "BLOCKS_PER_SM": {"name": "blocks_per_sm", "technique": "grid_stride", "domain": [0, 1, 2, 4, 8, 16], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "threads": "max(TEAM, 128)",
    "held": "ITEMS * TEAM * VECTOR",
    "loaded": "ITEMS * VECTOR * graph_inputs * graph_widest / 4",
    "more": "FIT == 0 ? max(16, VECTOR * 4) * graph_inputs * graph_widest / 4 : 0",
    "least_registers": "(FIT == 2 ? min(loaded, ITEMS * VECTOR * graph_held) + 28 : loaded + more + 30) + (BLOCKS_PER_SM > 0 ? 14 : 0)"
  },
  "restrict": [
    "VECTOR * graph_widest <= 16",
    "ITEMS * VECTOR <= 64",
    "MIN_BLOCKS * threads <= 2048",
    "least_registers * MIN_BLOCKS * threads <= dev.registers"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0", "FIT == 0 || graph_cols <= held", "FIT != 2 || graph_cols == held"],
    "let": {
      "groups": "cdiv(graph_rows, threads / TEAM)",
      "join_slots": "BLOCKS_PER_SM > 0 ? min(groups, dev.sms * BLOCKS_PER_SM) : groups"
    },
    "launches": [
      {"name": "main", "entry": "rowwise", "grid": ["join_slots"],
       "block": ["threads"], "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "walks": "graph_passes + (graph_elements > 0)",
      "registers_own": "FIT == 2 ? weight.registers_full : weight.registers + more",
      "registers_used": "min(loaded + registers_own + (BLOCKS_PER_SM > 0 ? weight.registers_walk : 0), 65536 / (threads * MIN_BLOCKS))",
      "room": "max(1, min(dev.blocks, min(2048, dev.registers / up(registers_used, 8)) / threads))",
      "beyond": "max(0, graph_cols - held)",
      "again": "graph_rows * beyond * graph_widest * (walks - 1)",
      "elements": "cdiv(graph_cols, TEAM)",
      "vectors": "cdiv(graph_cols, TEAM * VECTOR)",
      "instructions": "elements * (graph_operations + weight.element) + vectors * weight.vector + cdiv(beyond, TEAM * VECTOR) * (walks - 1) * weight.again + graph_passes * (weight.step * log2(TEAM) + weight.pass) + graph_row_operations + weight.block"
    },
    "blocks": "groups",
    "threads": "threads",
    "registers": "registers_used",
    "resident": "BLOCKS_PER_SM > 0 ? min(BLOCKS_PER_SM, room) : room",
    "issue": "256 * threads / 32 * instructions / 4",
    "math": "256 * threads / 32 * elements * graph_operations / 4",
    "fill": "256 * threads / TEAM * graph_cols * graph_widest / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + graph_passes * (weight.step_wait * log2(TEAM) + weight.pass_wait) + ITEMS * weight.item_wait + cdiv(beyond, TEAM * VECTOR * 4) * walks * weight.walk_wait)",
    "start": "256 * (weight.start + (graph_joins > 0 ? weight.join + cdiv(join_slots, threads) * weight.join_round : 0))",
    "l2": "graph_bytes + again",
    "dram": "(graph_bytes + again) * (LOAD_HINT ? weight.load_hint : 100) / 100",
    "traits": {"width": "256 * VECTOR * graph_widest", "idle": "256 * held / graph_cols"}
  }
}
*/
#include "cupilot/team.cuh"
#include "cupilot/joined.cuh"

// A team of TEAM threads takes a row: its first ITEMS vectors a thread stay in registers, what is
// longer is read again by each pass. Each pass combines the team's terms before the next begins.
// FIT 1: no row is longer. FIT 2: every row is as long. Code for other rows is left out, since what
// it needs would take registers from all.
constexpr int BLOCK = TEAM > 128 ? TEAM : 128;
constexpr int TEAMS = BLOCK / TEAM;
constexpr int WARPS = BLOCK / 32;

constexpr int TOGETHER = VECTOR < 4 ? 4 : 16 / VECTOR;  // loads under way of what is not held

__device__ __forceinline__ bool in_row(const Graph& graph, long long column) {
  return FIT == 2 || column < graph.all_columns();
}

// Calls `each(column, values)` for the vectors of a member that it holds.
template <class Each>
__device__ __forceinline__ void for_held(const Graph& graph, int member,
                                         const Graph::Values<VECTOR> (&held)[ITEMS], Each each) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const long long column = (static_cast<long long>(k) * TEAM + member) * VECTOR;
    if (in_row(graph, column)) each(column, held[k]);
  }
}

// Calls `each(column, loaded)` with what `load(column)` gives, for the others.
template <class Load, class Each>
__device__ __forceinline__ void for_others(const Graph& graph, int member, Load load, Each each) {
  if constexpr (FIT == 0) {
    constexpr int STEP = TEAM * VECTOR;
#pragma unroll 1
    for (long long top = (static_cast<long long>(ITEMS) * TEAM + member) * VECTOR;
         top < graph.all_columns(); top += TOGETHER * STEP) {
      decltype(load(top)) loaded[TOGETHER];
#pragma unroll
      for (int k = 0; k < TOGETHER; ++k) {
        if (top + k * STEP < graph.all_columns()) loaded[k] = load(top + k * STEP);
      }
#pragma unroll
      for (int k = 0; k < TOGETHER; ++k) {
        if (top + k * STEP < graph.all_columns()) each(top + k * STEP, loaded[k]);
      }
    }
  }
}

// Pass P and those after it.
template <int P>
__device__ __forceinline__ void fold_all(const Graph& graph, Graph::Row& at, int member, bool valid,
                                         const Graph::Values<VECTOR> (&held)[ITEMS],
                                         float* shared) {
  if constexpr (P < PASSES) {
    using How = Pass<P>;
    auto state = How::nothing();
    if (valid) {
      const auto add = [&](long long column, const Graph::Values<VECTOR>& values) {
        graph.fold<P, VECTOR>(at, column, values, state);
      };
      for_held(graph, member, held, add);
      for_others(
          graph, member, [&](long long column) { return graph.load<VECTOR>(at, column); }, add);
    }
    graph.finish<P>(at, of_team<TEAM, How, FIT == 2>(state, shared));
    fold_all<P + 1>(graph, at, member, valid, held, shared);
  }
}

// Computes and stores a row's elements. What these alone read is loaded here, several vectors at a
// time.
__device__ __forceinline__ void store_elements(const Graph& graph, const Graph::Row& at, int member,
                                               const Graph::Values<VECTOR> (&held)[ITEMS]) {
  constexpr int LATE = ITEMS < TOGETHER ? ITEMS : TOGETHER;
#pragma unroll
  for (int first = 0; first < ITEMS; first += LATE) {
    Graph::All<VECTOR> all[LATE];
#pragma unroll
    for (int k = 0; k < LATE && first + k < ITEMS; ++k) {
      const long long column = (static_cast<long long>(first + k) * TEAM + member) * VECTOR;
      if (in_row(graph, column)) all[k] = graph.complete<VECTOR>(at, column, held[first + k]);
    }
#pragma unroll
    for (int k = 0; k < LATE && first + k < ITEMS; ++k) {
      const long long column = (static_cast<long long>(first + k) * TEAM + member) * VECTOR;
      if (in_row(graph, column)) graph.store<VECTOR>(at, column, all[k]);
    }
  }
  for_others(
      graph, member, [&](long long column) { return graph.load_all<VECTOR>(at, column); },
      [&](long long column, const Graph::All<VECTOR>& all) {
        graph.store<VECTOR>(at, column, all);
      });
}

__device__ __forceinline__ void reduce_rows(const Graph& graph) {
  __shared__ float shared[WARPS * MOST_STATE];
  const int team = static_cast<int>(threadIdx.x) / TEAM;
  const int member = static_cast<int>(threadIdx.x) % TEAM;
  const long long rows = graph.all_rows();
  JoinShare share;
  begin_share(share);
#pragma unroll 1
  for (long long top = static_cast<long long>(blockIdx.x) * TEAMS;
       top<rows; top = BLOCKS_PER_SM> 0 ? top + static_cast<long long>(gridDim.x) * TEAMS : rows) {
    // A team without a row works on the last one and keeps its results to itself.
    const bool valid = TEAMS == 1 || top + team < rows;
    Graph::Row at = {valid ? top + team : rows - 1};
    Graph::Values<VECTOR> held[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const long long column = (static_cast<long long>(k) * TEAM + member) * VECTOR;
      if (in_row(graph, column)) held[k] = graph.load<VECTOR>(at, column);
    }
    fold_all<0>(graph, at, member, valid, held, shared);
    if (!valid) continue;
    if constexpr (STORES_ELEMENTS) store_elements(graph, at, member, held);
    if (member == 0) {
      graph.store_row(at);
      join_row(graph, at, share);
    }
  }
  if constexpr (JOINS > 0) join_blocks<BLOCK>(graph, share, blockIdx.x, gridDim.x, shared);
}

extern "C" __global__ void __launch_bounds__(BLOCK, MIN_BLOCKS) rowwise(GRAPH_PARAMETERS) {
  reduce_rows(Graph{GRAPH_ARGUMENTS});
}
