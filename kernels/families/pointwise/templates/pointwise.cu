/* cupilot tunable 2
{
  "name": "pointwise",
  "family": "pointwise",
  "anchor": "map",
  "summary": "a graph of pointwise operators, several elements a thread",
  "parameters": {
    "THREADS": {"name": "threads", "domain": [64, 128, 256, 512, 1024], "plain": 256},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 4, 8], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "BLOCKS_PER_SM": {"name": "blocks_per_sm", "technique": "grid_stride", "domain": [0, 1, 2, 4, 8, 16], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "restrict": [
    "VECTOR * graph_widest <= 16",
    "ITEMS * VECTOR <= 32",
    "MIN_BLOCKS * THREADS <= 2048",
    "(ITEMS * VECTOR * graph_inputs * graph_widest / 4 + 20) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0"],
    "let": {
      "vectors": "graph_rows * (graph_cols / VECTOR)",
      "groups": "cdiv(vectors, THREADS * ITEMS)"
    },
    "launches": [
      {"name": "main", "entry": "pointwise", "grid": ["BLOCKS_PER_SM > 0 ? min(groups, dev.sms * BLOCKS_PER_SM) : groups"],
       "block": ["THREADS"], "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "elements": "ITEMS * VECTOR",
      "registers_used": "min(weight.registers + elements * graph_inputs * graph_widest / 4, 65536 / (THREADS * MIN_BLOCKS))",
      "room": "max(1, min(dev.blocks, min(2048, dev.registers / up(registers_used, 8)) / THREADS))",
      "instructions": "elements * (graph_operations + weight.element) + ITEMS * weight.item + weight.block"
    },
    "blocks": "groups",
    "threads": "THREADS",
    "registers": "registers_used",
    "resident": "BLOCKS_PER_SM > 0 ? min(BLOCKS_PER_SM, room) : room",
    "issue": "256 * THREADS / 32 * instructions / 4",
    "math": "256 * THREADS / 32 * elements * graph_operations / 4",
    "fill": "256 * THREADS * elements * graph_widest / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + ITEMS * weight.item_wait)",
    "start": "256 * weight.start",
    "l2": "graph_bytes",
    "dram": "graph_bytes",
    "traits": {"width": "256 * VECTOR * graph_widest"}
  }
}
*/
// A thread computes ITEMS vectors of VECTOR neighbouring elements, a block's threads side by side;
// all are loaded before the first is computed.
__device__ __forceinline__ void map_all(const Graph& graph) {
  const long long width = graph.all_columns() / VECTOR;
  const long long vectors = graph.all_rows() * width;
  const long long block = static_cast<long long>(THREADS) * ITEMS;
#pragma unroll 1
  for (long long top = blockIdx.x * block;
       top<vectors; top = BLOCKS_PER_SM> 0 ? top + gridDim.x * block : vectors) {
    Graph::Place places[ITEMS];
    long long columns[ITEMS];
    Graph::Values<VECTOR> values[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      const long long vector = top + k * THREADS + threadIdx.x;
      places[k] = {{vector / width}, vector * VECTOR};
      columns[k] = vector % width * VECTOR;
      if (vector < vectors) values[k] = graph.load<VECTOR>(places[k], columns[k]);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (top + k * THREADS + threadIdx.x < vectors)
        graph.store<VECTOR>(places[k], columns[k], values[k]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) pointwise(GRAPH_PARAMETERS) {
  map_all(Graph{GRAPH_ARGUMENTS});
}
