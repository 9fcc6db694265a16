/* cupilot tunable 1
{
  "name": "softmax_tile",
  "family": "softmax",
  "summary": "softmax of short rows of any length: a warp's rows through shared memory in 16-byte pieces, teams of lanes a row",
  "provides": ["row_tiles", "register_rows"],
  "requires": ["row_tiles"],
  "when": ["elem.x == elem.y", "elem.x == 2 || elem.x == 4", "LOG == 0 || LOG == 1"],
  "parameters": {
    "LANES": {"name": "tile_lanes", "technique": "row_tiles", "domain": [1, 2, 4, 8, 16, 32], "plain": 4},
    "ROWS": {"name": "tile_turns", "technique": "row_tiles", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "tile_items", "technique": "row_tiles", "domain": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 48], "plain": 8},
    "WARPS": {"name": "warps", "domain": [1, 2, 4, 8, 16], "plain": 4},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "BLOCKS_PER_SM": {"name": "blocks_per_sm", "technique": "grid_stride", "domain": [0, 1, 2, 4, 8, 16], "plain": 0},
    "FAST_EXP": {"name": "fast_exponential", "technique": "fast_exponential", "domain": [0, 1], "plain": 0},
    "HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "tile": "32 / LANES * ROWS"
  },
  "restrict": [
    "tile * elem.x % 16 == 0",
    "MIN_BLOCKS * WARPS * 32 <= 2048",
    "(ITEMS + 24) * MIN_BLOCKS * WARPS * 32 <= dev.registers"
  ],
  "registers": "min(ITEMS * 9 / 8 + 36, 65536 / (WARPS * 32 * MIN_BLOCKS))",
  "plan": {
    "require": ["cols <= ITEMS * LANES", "shared * MIN_BLOCKS <= dev.shared"],
    "let": {
      "shared": "WARPS * tile * cols * elem.x",
      "groups": "cdiv(rows, WARPS * tile)"
    },
    "launches": [
      {"name": "main", "entry": "softmax_tile", "grid": ["BLOCKS_PER_SM > 0 ? min(groups, dev.sms * BLOCKS_PER_SM) : groups"],
       "block": ["WARPS * 32"], "shared": "shared", "args": ["x", "y", {"i64": "rows"}, {"i32": "cols"}]}
    ]
  },
  "model": {
    "let": {
      "words": "cdiv(tile * cols * elem.x, 512)",
      "loose": "cols <= (ITEMS - 1) * LANES",
      "per_element": "(FAST_EXP ? weight.fast_exp : weight.exp) + (elem.x == 2 ? weight.narrow : 0) + weight.loose * loose",
      "instructions": "ROWS * (ITEMS * per_element + weight.step * log2(LANES) / 2 + weight.row) + weight.word * words + weight.block",
      "wavefronts": "2 * ROWS * ITEMS * passes(32 / LANES, cols * elem.x, elem.x, 1) + 8 * words"
    },
    "blocks": "groups",
    "threads": "WARPS * 32",
    "registers": "min(ITEMS * weight.element_registers / 1000 + weight.registers, 65536 / (WARPS * 32 * MIN_BLOCKS))",
    "shared_bytes": "shared",
    "issue": "256 * WARPS * instructions / 4",
    "math": "256 * WARPS * ROWS * ITEMS * 2",
    "shared": "256 * WARPS * wavefronts",
    "fill": "256 * WARPS * tile * cols * elem.x / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + ROWS * (weight.row_wait + weight.step_wait * log2(LANES) + weight.item_wait * ITEMS))",
    "start": "256 * weight.start",
    "l2": "rows * cols * (elem.x + elem.y)",
    "dram": "rows * cols * (elem.x + elem.y)",
    "traits": {"idle": "256 * ITEMS * LANES / cols", "turns": "256 * ROWS"}
  }
}
*/
// A warp takes TILE rows that lie side by side: one piece of memory, whatever the length of a row.
// It comes to shared memory and leaves it in 16-byte words; in between a team of LANES lanes takes
// each row and leaves its results in its place. Warps never wait for one another.
constexpr int VECTOR = 16 / static_cast<int>(sizeof(T_x));
constexpr int LOAD_HINT = 0;
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/softmax_row.cuh"

constexpr int TEAMS = 32 / LANES;
constexpr int TILE = TEAMS * ROWS;

// `count` elements from x on, by all lanes of the warp.
__device__ __forceinline__ void bring(T_x* tile, const T_x* x, int count, bool aligned, int lane) {
  const int whole = aligned ? count / VECTOR : 0;
#pragma unroll 4
  for (int i = lane; i < whole; i += 32)
    copy_async<16, HINT != 0>(shared_address(tile + i * VECTOR), x + i * VECTOR);
  commit_copies();
  for (int i = whole * VECTOR + lane; i < count; i += 32) tile[i] = x[i];
  wait_copies<0>();
  __syncwarp();
}

__device__ __forceinline__ void give(T_y* y, const T_y* tile, int count, bool aligned, int lane) {
  __syncwarp();
  const int whole = aligned ? count / VECTOR : 0;
#pragma unroll 4
  for (int i = lane; i < whole; i += 32) {
    const unsigned* from = reinterpret_cast<const unsigned*>(tile + i * VECTOR);
    unsigned* to = reinterpret_cast<unsigned*>(y + i * VECTOR);
    if constexpr (STORE_HINT != 0) {
      store_vector_streaming<unsigned, 4>(to, load_vector<unsigned, 4>(from));
    } else {
      store_vector<unsigned, 4>(to, load_vector<unsigned, 4>(from));
    }
  }
  for (int i = whole * VECTOR + lane; i < count; i += 32) y[i] = tile[i];
  __syncwarp();
}

// A row of the tile by a team: this lane's elements lie LANES apart, `cols` are left from the first
// on. TIGHT: all but the last of ITEMS are there.
template <bool TIGHT>
__device__ __forceinline__ void turn(T_x* from, T_y* to, int cols) {
  const auto holds = [cols](int i) { return (TIGHT && i + 1 < ITEMS) || i * LANES < cols; };
  float value[ITEMS];
  Share all = empty_share();
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    value[i] = holds(i) ? to_float(from[i * LANES]) : minus_infinity();
    all.largest = fmaxf(all.largest, value[i]);
  }
  all.largest = largest_of<LANES>(all.largest);
  const float base = base_of(all.largest);
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    value[i] -= base;
    const float one = exponential(value[i]);
    if constexpr (LOG == 0) value[i] = one;
    all.sum += one;
  }
  all.sum = sum_of<LANES>(all.sum);
  const float scale = LOG != 0 ? logf(all.sum) : 1.0f / all.sum;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i)
    if (holds(i)) to[i * LANES] = from_float<T_y>(LOG != 0 ? value[i] - scale : value[i] * scale);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, MIN_BLOCKS)
    softmax_tile(const T_x* x, T_y* y, long long rows, int cols) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  T_x* tile = reinterpret_cast<T_x*>(shared) + warp * TILE * cols;
  const bool aligned =
      ((reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y)) & 15) ==
      0;
#pragma unroll 1
  for (long long top = (static_cast<long long>(blockIdx.x) * WARPS + warp) * TILE; top < rows;
       top += static_cast<long long>(gridDim.x) * WARPS * TILE) {
    const int held = static_cast<int>(min(rows - top, static_cast<long long>(TILE)));
    const bool tight = held == TILE && cols > (ITEMS - 1) * LANES;
    bring(tile, x + top * cols, held * cols, aligned, lane);
#pragma unroll 1
    for (int k = 0; k < ROWS; ++k) {
      const int row = k * TEAMS + lane / LANES;
      const int mine = row < held ? cols : 0;  // a team without a row takes part in exchanges alone
      T_x* from = tile + row * cols + lane % LANES;
      T_y* to = reinterpret_cast<T_y*>(from);
      if (tight) {
        turn<true>(from, to, mine - lane % LANES);
      } else {
        turn<false>(from, to, mine - lane % LANES);
      }
    }
    give(y + top * cols, reinterpret_cast<T_y*>(tile), held * cols, aligned, lane);
  }
}
