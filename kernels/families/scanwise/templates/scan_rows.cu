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
    "(ITEMS * VECTOR * (1 + (1 + AHEAD) * graph_inputs * graph_widest / 4) + 36) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0", "graph_scan % VECTOR == 0", "IN_SHARED == 0 || (row_bytes + 1280) * MIN_BLOCKS <= dev.shared"],
    "let": {
      "row_bytes": "up(graph_scan, 4) * 4",
      "blocks_used": "BLOCKS_PER_SM > 0 ? min(graph_rows, dev.sms * BLOCKS_PER_SM) : graph_rows"
    },
    "buffers": [
      {"name": "rows_scanned", "bytes": "IN_SHARED ? 16 : blocks_used * row_bytes"}
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
      "instructions": "steps * (elements * (graph_operations + 8) + 80)"
    },
    "blocks": "graph_rows",
    "threads": "THREADS",
    "registers": "min(36 + elements * (1 + (1 + AHEAD) * graph_inputs * graph_widest / 4), 65536 / (THREADS * MIN_BLOCKS))",
    "shared_bytes": "IN_SHARED ? row_bytes : 0",
    "issue": "256 * THREADS / 32 * instructions / 4",
    "math": "256 * THREADS / 32 * steps * elements * graph_operations / 4",
    "fill": "256 * graph_cols * graph_widest * (IN_SHARED ? 1 : 3) / 64",
    "latency": "256 * 800",
    "chain": "256 * steps * ((AHEAD ? 100 : 700) + 6 * elements + THREADS / 32 * 4 + 120)",
    "start": "256 * 1500",
    "l2": "graph_bytes + (IN_SHARED ? 0 : graph_rows * graph_cols * 8)",
    "dram": "graph_bytes",
    "traits": {"width": "256 * VECTOR * graph_widest", "steps": "256 * steps"}
  }
}
*/
// A block takes a row, ITEMS vectors a thread at a time: each thread scans its own terms, the
// threads' totals are scanned by warps and across them, and what the row has so far is carried on.
// The scanned row stays in shared memory, or in a place of the block's own, so that outputs may
// read it at any coordinate.
constexpr int WARPS = THREADS / 32;
constexpr int OWN = ITEMS * VECTOR;  // terms of a thread at a time

using How = Combiner<0>::type;
using Held = Graph::Values<VECTOR>[ITEMS];

// A thread's terms are neighbours, so that its own scan needs no other thread.
__device__ __forceinline__ void load_own(const Graph& graph, const Graph::Row& at, long long first,
                                         Held& to) {
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    if (first + k * VECTOR < graph.scan_columns())
      to[k] = graph.load<VECTOR>(at, first + k * VECTOR);
  }
}

// Combines all terms before this thread's, given the combination of its own; `total`: the block's.
__device__ __forceinline__ float before_own(float own, float* shared, float& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  float upto = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float other = __shfl_up_sync(0xffffffffu, upto, step);
    if (lane >= step) upto = How::of(other, upto);
  }
  float before = __shfl_up_sync(0xffffffffu, upto, 1);
  if (lane == 0) before = How::nothing();
  if (lane == 31) shared[warp] = upto;
  __syncthreads();
  float warps_before = How::nothing();
  total = How::nothing();
#pragma unroll
  for (int other = 0; other < WARPS; ++other) {
    if (other == warp) warps_before = total;
    total = How::of(total, shared[other]);
  }
  __syncthreads();
  return How::of(warps_before, before);
}

__device__ __forceinline__ void scan_row(const Graph& graph, const Graph::Row& at, float* scanned,
                                         float* shared) {
  const long long columns = graph.scan_columns();
  const int mine = static_cast<int>(threadIdx.x) * OWN;
  float carried = How::nothing();
  Held held;
  if constexpr (AHEAD != 0) load_own(graph, at, mine, held);
#pragma unroll 1
  for (long long top = 0; top < columns; top += THREADS * OWN) {
    const long long first = top + mine;
    if constexpr (AHEAD == 0) load_own(graph, at, first, held);
    float terms[OWN];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      float some[VECTOR];
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) some[i] = How::nothing();
      if (first + k * VECTOR < columns) graph.terms<VECTOR>(at, first + k * VECTOR, held[k], some);
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) terms[k * VECTOR + i] = some[i];
    }
    if constexpr (AHEAD != 0) load_own(graph, at, first + THREADS * OWN, held);
#pragma unroll
    for (int i = 1; i < OWN; ++i) terms[i] = How::of(terms[i - 1], terms[i]);
    float total;
    const float before = How::of(carried, before_own(terms[OWN - 1], shared, total));
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (first + k * VECTOR >= columns) break;
      Vector<float, VECTOR> out;
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) out.at[i] = How::of(before, terms[k * VECTOR + i]);
      constexpr int PIECE = VECTOR < 4 ? VECTOR : 4;
#pragma unroll
      for (int i = 0; i < VECTOR; i += PIECE) {
        Vector<float, PIECE> piece;
#pragma unroll
        for (int j = 0; j < PIECE; ++j) piece.at[j] = out.at[i + j];
        store_vector<float, PIECE>(scanned + first + k * VECTOR + i, piece);
      }
    }
    carried = How::of(carried, total);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    scan_rows(GRAPH_PARAMETERS, float* rows_scanned, long long pitch) {
  extern __shared__ __align__(16) float row[];
  __shared__ float shared[WARPS];
  const Graph graph{GRAPH_ARGUMENTS};
  float* scanned = IN_SHARED != 0 ? row : rows_scanned + blockIdx.x * pitch;
#pragma unroll 1
  for (long long number = blockIdx.x; number < graph.all_rows(); number += gridDim.x) {
    const Graph::Row at = {number};
    scan_row(graph, at, scanned, shared);
    __syncthreads();  // the row is whole
#pragma unroll 1
    for (long long column = static_cast<int>(threadIdx.x) * VECTOR; column < graph.all_columns();
         column += THREADS * VECTOR)
      graph.store<VECTOR>(at, column, graph.load<VECTOR>(at, column), scanned);
    __syncthreads();  // and has been read
  }
}
