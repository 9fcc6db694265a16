/* cupilot tunable 2
{
  "name": "window_direct",
  "family": "windowed",
  "anchor": "gather",
  "summary": "results whose terms are found by coordinates, a tile of them a thread in registers",
  "provides": ["register_tile"],
  "requires": ["register_tile"],
  "parameters": {
    "THREADS": {"name": "threads", "domain": [64, 128, 256, 512], "plain": 128},
    "ACROSS": {"name": "across", "technique": "register_tile", "domain": [1, 2, 4, 8, 16], "plain": 1},
    "ALONG": {"name": "along", "technique": "register_tile", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1}
  },
  "restrict": [
    "ACROSS * ALONG <= 64",
    "MIN_BLOCKS * THREADS <= 2048",
    "(ACROSS * ALONG + ACROSS + ALONG + 40) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "plan": {
    "require": ["graph_largest <= graph_counted", "ACROSS == 1 || graph_second > 1", "ACROSS < 2 * graph_second && ALONG < 2 * graph_lane"],
    "let": {
      "tiles": "graph_rows / (graph_lane * graph_second) * cdiv(graph_lane, ALONG) * cdiv(graph_second, ACROSS)",
      "groups": "cdiv(tiles, THREADS)"
    },
    "launches": [
      {"name": "main", "entry": "window_direct", "grid": ["groups"], "block": ["THREADS"], "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "elements": "ACROSS * ALONG",
      "loads": "graph_second > 1 ? ACROSS + ALONG : elements",
      "per_term": "elements * weight.product + loads * (weight.load + graph_operand_operations) + weight.term",
      "near": "elements * (graph_row_operations + weight.result + ALONG * weight.apart)"
    },
    "blocks": "groups",
    "threads": "THREADS",
    "registers": "min(weight.registers + elements + loads, 65536 / (THREADS * MIN_BLOCKS))",
    "rounds": "256 * graph_cols",
    "issue": "256 * THREADS / 32 * per_term / 4",
    "math": "256 * THREADS / 32 * elements / 4",
    "shared": "256 * THREADS / 32 * loads * ALONG * weight.wave / 100",
    "fill": "256 * THREADS * loads * graph_widest / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + loads * weight.load_wait)",
    "ends": "256 * cdiv(groups, dev.sms) * THREADS / 32 * near / 4",
    "start": "256 * weight.start",
    "l2": "graph_bytes + tiles * graph_cols * loads * graph_widest / weight.l1_reuse",
    "dram": "graph_bytes",
    "traits": {"tile": "256 * elements"}
  }
}
*/
// A thread keeps ACROSS results along one coordinate by ALONG neighbours in registers: what one
// operand does not depend on is loaded once for all of them.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) window_direct(GRAPH_PARAMETERS) {
  const Graph graph{GRAPH_ARGUMENTS};
  const long long index = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (index >= graph.tiles<ACROSS, ALONG>()) return;
  const Graph::Tile tile = graph.tile<ACROSS, ALONG>(index);
  float acc[ACROSS][ALONG];
#pragma unroll
  for (int m = 0; m < ACROSS; ++m) {
#pragma unroll
    for (int i = 0; i < ALONG; ++i) acc[m][i] = How::nothing();
  }
  graph.fold_tile<ACROSS, ALONG>(tile, acc);
  graph.store_tile<ACROSS, ALONG>(tile, acc);
}
