/* cupilot tunable 2
{
  "name": "scan_rows",
  "family": "scanwise",
  "anchor": "scan",
  "summary": "rows scanned by a block each, which keeps the scanned row at hand for the outputs",
  "provides": ["row_per_block"],
  "parameters": {
    "THREADS": {"name": "block_threads", "technique": "row_per_block", "domain": [64, 128, 256, 512, 1024], "plain": 256},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 4, 8], "plain": 1},
    "AHEAD": {"name": "register_prefetch", "technique": "register_prefetch", "domain": [0, 1], "plain": 0},
    "IN_SHARED": {"name": "rows_in_shared", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "BLOCKS_PER_SM": {"name": "blocks_per_sm", "technique": "grid_stride", "domain": [0, 1, 2, 4, 8, 16], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "restrict": [
    "VECTOR * graph_widest <= 16",
    "ITEMS * VECTOR <= 32",
    "MIN_BLOCKS * THREADS <= 2048",
    "(ITEMS * VECTOR * (1 + graph_inputs * graph_widest / 4) + ITEMS + 24) * MIN_BLOCKS * THREADS <= dev.registers",
    "IN_SHARED == 0 || graph_near == 0"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0", "IN_SHARED == 0 || (row_bytes + 1280) * MIN_BLOCKS <= dev.shared"],
    "let": {
      "row_bytes": "up(graph_scan, 8) * 4",
      "blocks_used": "BLOCKS_PER_SM > 0 ? min(graph_rows, dev.sms * BLOCKS_PER_SM) : graph_rows"
    },
    "buffers": [
      {"name": "rows_scanned", "bytes": "IN_SHARED || graph_near ? 16 : blocks_used * row_bytes"}
    ],
    "launches": [
      {"name": "main", "entry": "scan_rows", "grid": ["blocks_used"], "block": ["THREADS"],
       "shared": "IN_SHARED ? row_bytes : 0", "args": ["graph", "rows_scanned", {"i64": "row_bytes / 4"}]}
    ]
  },
  "model": {
    "let": {
      "step": "THREADS * VECTOR * ITEMS",
      "steps": "cdiv(graph_scan, step)",
      "elements": "VECTOR * ITEMS",
      "staged": "IN_SHARED == 0 && graph_near == 0",
      "instructions": "steps * (elements * (graph_operations + weight.element) + ITEMS * weight.item + THREADS / 32 * weight.warp + weight.step)"
    },
    "blocks": "graph_rows",
    "threads": "THREADS",
    "registers": "min(weight.registers + ITEMS + elements * (1 + graph_inputs * graph_widest / 4), 65536 / (THREADS * MIN_BLOCKS))",
    "shared_bytes": "IN_SHARED ? row_bytes : 0",
    "issue": "256 * THREADS / 32 * instructions / 4",
    "math": "256 * THREADS / 32 * steps * elements * graph_operations / 4",
    "fill": "256 * graph_cols * graph_widest * (staged ? 3 : 1) / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * steps * ((AHEAD ? weight.ahead_wait : weight.load_wait) + weight.element_wait * elements + weight.item_wait * ITEMS + THREADS / 32 * weight.warp_wait + weight.step_wait)",
    "start": "256 * weight.start",
    "l2": "graph_bytes + (staged ? graph_rows * graph_cols * 8 : 0)",
    "dram": "graph_bytes * (LOAD_HINT ? weight.load_hint : 100) / 100",
    "traits": {"width": "256 * VECTOR * graph_widest", "steps": "256 * steps"}
  }
}
*/
// A block takes a row, ITEMS vectors a thread at a time, and those of a warp are neighbours: a
// vector of each lane, then the next of each. A lane scans its vectors, warps scan what their lanes
// have, warps are combined in turn, and what the row has so far is carried on. Outputs that read
// the scan at their own column or the one before it (NEAR) are stored from registers. For others
// the scanned row stays in shared memory, or in a place of the block's own, and they read it at any
// coordinate.
constexpr int WARPS = THREADS / 32;
constexpr int SPAN = 32 * VECTOR;               // terms that a warp has side by side
constexpr int STEP = THREADS * ITEMS * VECTOR;  // terms of the block at a time

using How = Combiner<0>::type;
using Held = Graph::Values<VECTOR>[ITEMS];
using Terms = float[ITEMS][VECTOR];

__device__ __forceinline__ void load_own(const Graph& graph, const Graph::Row& at, long long first,
                                         Held& to) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * SPAN + VECTOR <= graph.scan_columns())
      to[k] = graph.load_terms<VECTOR>(at, first + k * SPAN);
  }
}

// Terms of a vector, one by one where the row ends within it, and nothing past the end.
__device__ __forceinline__ void find_terms(const Graph& graph, const Graph::Row& at,
                                           long long first, const Graph::Values<VECTOR>& held,
                                           float (&terms)[VECTOR]) {
  if (first + VECTOR <= graph.scan_columns()) {
    graph.terms<VECTOR>(at, first, held, terms);
    return;
  }
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) {
    float one[1] = {How::nothing()};
    if (VECTOR > 1 && first + i < graph.scan_columns())
      graph.terms<1>(at, first + i, graph.load_terms<1>(at, first + i), one);
    terms[i] = one[0];
  }
}

// Combines all terms that the block has before each of a thread's vectors; `total`: the block's.
__device__ __forceinline__ void combine_before(const Terms& terms, float* shared,
                                               float (&before)[ITEMS], float& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  float of_warp = How::nothing();
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    float upto = terms[k][VECTOR - 1];
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, upto, step);
      if (lane >= step) upto = How::of(other, upto);
    }
    const float lanes_before = __shfl_up_sync(0xffffffffu, upto, 1);
    before[k] = lane == 0 ? of_warp : How::of(of_warp, lanes_before);
    of_warp = How::of(of_warp, __shfl_sync(0xffffffffu, upto, 31));
  }
  if (lane == 0) shared[warp] = of_warp;
  __syncthreads();
  float warps_before = How::nothing();
  total = How::nothing();
#pragma unroll
  for (int other = 0; other < WARPS; ++other) {
    if (other == warp) warps_before = total;
    total = How::of(total, shared[other]);
  }
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) before[k] = How::of(warps_before, before[k]);
}

// An output reads the scan at its own place or the one before it.
struct OwnScan {
  long long place;
  float before, own;

  __device__ __forceinline__ float operator[](long long at) const {
    return at == place ? own : before;
  }
};

// Scanned terms of a vector, and the one before them.
struct Neighbours {
  long long first;
  float value[VECTOR + 1];

  __device__ __forceinline__ OwnScan element(int number) const {
    const int i = BACK ? VECTOR - 1 - number : number;
    return {first + i, value[i], value[i + 1]};
  }
};

// Stores the outputs that belong to scanned terms, or these themselves.
__device__ __forceinline__ void put(const Graph& graph, const Graph::Row& at, long long first,
                                    float before, const float (&terms)[VECTOR], float* scanned) {
  Neighbours near = {first, {before}};
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) near.value[i + 1] = How::of(before, terms[i]);
  if constexpr (NEAR) {
    if (first >= graph.all_columns()) return;
    const long long column = BACK ? graph.all_columns() - VECTOR - first : first;
    graph.store<VECTOR>(at, column, graph.load<VECTOR>(at, column), near);
  } else {
    if (first >= graph.scan_columns()) return;
    constexpr int PIECE = VECTOR < 4 ? VECTOR : 4;
#pragma unroll
    for (int i = 0; i < VECTOR; i += PIECE) {
      Vector<float, PIECE> piece;
#pragma unroll
      for (int j = 0; j < PIECE; ++j) piece.at[j] = near.value[i + j + 1];
      store_vector<float, PIECE>(scanned + first + i, piece);
    }
  }
}

// `turn` counts steps: neighbouring ones have different halves of `shared`.
__device__ __forceinline__ void scan_row(const Graph& graph, const Graph::Row& at, float* scanned,
                                         float (&shared)[2][WARPS], int& turn) {
  const long long columns = NEAR ? graph.all_columns() : graph.scan_columns();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int mine = warp * (SPAN * ITEMS) + lane * VECTOR;
  float carried = How::nothing();
  Held held;
  if constexpr (AHEAD != 0) load_own(graph, at, mine, held);
#pragma unroll 1
  for (long long top = 0; top < columns; top += STEP) {
    const long long first = top + mine;
    if constexpr (AHEAD == 0) load_own(graph, at, first, held);
    Terms terms;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      find_terms(graph, at, first + k * SPAN, held[k], terms[k]);
#pragma unroll
      for (int i = 1; i < VECTOR; ++i) terms[k][i] = How::of(terms[k][i - 1], terms[k][i]);
    }
    if constexpr (AHEAD != 0) load_own(graph, at, first + STEP, held);
    float before[ITEMS], total;
    combine_before(terms, shared[turn % 2], before, total);
    ++turn;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
      put(graph, at, first + k * SPAN, How::of(carried, before[k]), terms[k], scanned);
    carried = How::of(carried, total);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    scan_rows(GRAPH_PARAMETERS, float* rows_scanned, long long pitch) {
  extern __shared__ __align__(16) float row[];
  __shared__ float shared[2][WARPS];
  const Graph graph{GRAPH_ARGUMENTS};
  float* scanned = IN_SHARED != 0 ? row : rows_scanned + blockIdx.x * pitch;
  int turn = 0;
#pragma unroll 1
  for (long long number = blockIdx.x; number < graph.all_rows(); number += gridDim.x) {
    const Graph::Row at = {number};
    scan_row(graph, at, scanned, shared, turn);
    if constexpr (!NEAR) {
      __syncthreads();  // the row is whole
#pragma unroll 1
      for (long long column = static_cast<int>(threadIdx.x) * VECTOR; column < graph.all_columns();
           column += THREADS * VECTOR)
        graph.store<VECTOR>(at, column, graph.load<VECTOR>(at, column), scanned);
      __syncthreads();  // and has been read
    }
  }
}
