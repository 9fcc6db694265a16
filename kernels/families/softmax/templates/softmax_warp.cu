/* cupilot tunable 1
{
  "name": "softmax_warp",
  "family": "softmax",
  "summary": "softmax of short rows: a team of lanes a row, whole rows in registers, no shared memory",
  "provides": ["warp_rows", "register_rows"],
  "requires": ["warp_rows"],
  "when": ["elem.x == elem.y", "elem.x == 2 || elem.x == 4", "LOG == 0 || LOG == 1"],
  "parameters": {
    "LANES": {"name": "lanes", "technique": "warp_rows", "domain": [1, 2, 4, 8, 16, 32], "plain": 32},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 3, 4, 6, 8, 12, 16], "plain": 1},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ROWS": {"name": "rows_in_flight", "technique": "several_rows", "domain": [1, 2, 4], "plain": 1},
    "WARPS": {"name": "warps", "domain": [1, 2, 4, 8, 16], "plain": 4},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "BLOCKS_PER_SM": {"name": "blocks_per_sm", "technique": "grid_stride", "domain": [0, 1, 2, 4, 8, 16], "plain": 0},
    "FAST_EXP": {"name": "fast_exponential", "technique": "fast_exponential", "domain": [0, 1], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "restrict": [
    "VECTOR * elem.x <= 16",
    "!LOAD_HINT || VECTOR * elem.x >= 4",
    "ROWS * ITEMS * VECTOR <= 128",
    "MIN_BLOCKS * WARPS * 32 <= 2048",
    "(ROWS * ITEMS * VECTOR + 28) * MIN_BLOCKS * WARPS * 32 <= dev.registers"
  ],
  "registers": "min(ROWS * ITEMS * VECTOR * 9 / 8 + 30, 65536 / (WARPS * 32 * MIN_BLOCKS))",
  "plan": {
    "require": ["cdiv(cols, VECTOR) + (cols % VECTOR != 0) <= ITEMS * LANES"],
    "let": {
      "groups": "cdiv(rows, WARPS * 32 / LANES * ROWS)"
    },
    "launches": [
      {"name": "main", "entry": "softmax_warp", "grid": ["BLOCKS_PER_SM > 0 ? min(groups, dev.sms * BLOCKS_PER_SM) : groups"],
       "block": ["WARPS * 32"], "args": ["x", "y", {"i64": "rows"}, {"i32": "cols"}]}
    ]
  },
  "model": {
    "let": {
      "elements": "ROWS * ITEMS * VECTOR",
      "cut": "cols % VECTOR != 0",
      "per_element": "(FAST_EXP ? weight.fast_exp : weight.exp) + (elem.x == 2 ? weight.narrow : 0)",
      "instructions": "elements * per_element + ROWS * ITEMS * (weight.load + cut * weight.cut * VECTOR / 2) + ROWS * (weight.step * log2(LANES) / 2 + weight.row)"
    },
    "blocks": "groups",
    "threads": "WARPS * 32",
    "registers": "min(elements * weight.element_registers / 1000 + weight.registers, 65536 / (WARPS * 32 * MIN_BLOCKS))",
    "issue": "256 * WARPS * instructions / 4",
    "math": "256 * WARPS * elements * 2",
    "fill": "256 * WARPS * 32 / LANES * ROWS * cols * elem.x / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + weight.step_wait * log2(LANES) + ITEMS * ROWS * weight.item_wait)",
    "start": "256 * weight.start",
    "l2": "rows * cols * (elem.x + elem.y)",
    "dram": "rows * cols * (elem.x + elem.y)",
    "traits": {"width": "256 * VECTOR * elem.x", "idle": "256 * ITEMS * LANES * VECTOR / cols"}
  }
}
*/
// A team of LANES neighbouring lanes takes a row, ITEMS chunks of it a lane, and ROWS rows at once,
// so that enough loads are under way. Teams never wait for one another.
#include "cupilot/vector.cuh"
#include "cupilot/softmax_row.cuh"
#include "cupilot/softmax_held.cuh"

constexpr int THREADS = WARPS * 32;
constexpr int TEAMS = THREADS / LANES;

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    softmax_warp(const T_x* x, T_y* y, long long rows, int cols) {
  const int team = static_cast<int>(threadIdx.x) / LANES;
  const int lane = static_cast<int>(threadIdx.x) % LANES;
#pragma unroll 1
  for (long long top = static_cast<long long>(blockIdx.x) * (TEAMS * ROWS); top < rows;
       top += static_cast<long long>(gridDim.x) * (TEAMS * ROWS)) {
    // A team without a row repeats the last one and stores nothing.
    const auto row_of = [&](int k) {
      return Row(x, y, min(top + k * TEAMS + team, rows - 1), cols);
    };
    Held<ITEMS, LANES> held[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; ++k) held[k].load(row_of(k), lane);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
      Share all = empty_share();
      all.largest = largest_of<LANES>(held[k].largest());
      all.sum = sum_of<LANES>(held[k].exponentials(base_of(all.largest)));
      if (top + k * TEAMS + team >= rows) continue;
      held[k].store(row_of(k), Ending(all), all.largest);
    }
  }
}
