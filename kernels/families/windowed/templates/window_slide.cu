/* cupilot tunable 2
{
  "name": "window_slide",
  "family": "windowed",
  "anchor": "slide",
  "summary": "windows that slide over one tensor, weighted by plane or not: planes of a patch come to shared memory one after another, a tile of results a thread in registers",
  "provides": ["staged_windows"],
  "requires": ["staged_windows"],
  "parameters": {
    "THREADS": {"name": "threads", "domain": [64, 128, 256, 512], "plain": 128},
    "LANES": {"name": "lanes", "technique": "staged_windows", "domain": [8, 16, 32, 64, 128, 256, 512], "plain": 64},
    "DOWN": {"name": "down", "technique": "staged_windows", "domain": [1, 2, 4, 8], "plain": 2},
    "ALONG": {"name": "side_by_side", "technique": "staged_windows", "domain": [1, 2, 3, 4, 5, 7, 8], "plain": 1},
    "DEPTH": {"name": "depth", "technique": "staged_windows", "domain": [1, 2, 4, 8, 16, 32, 64], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1}
  },
  "let": {
    "apart": "ALONG > 1 && graph_column_apart <= LANES / 4 ? graph_column_apart : 1",
    "tile_rows": "THREADS / LANES * DOWN",
    "computed_columns": "LANES / apart * apart * ALONG",
    "tile_columns": "computed_columns / 4 * 4",
    "patch_rows": "(tile_rows - 1) * graph_row_step + graph_row_reach + 1",
    "patch_columns": "cdiv((computed_columns - 1) * graph_column_step + graph_column_reach + 4, 4) * 4",
    "patch_pitch": "cdiv(patch_columns, graph_column_step) * graph_column_step",
    "under_way": "graph_plane_reach / graph_plane_step + 1",
    "patches": "DEPTH > 1 || graph_plane_reach > 0 ? 2 : 1",
    "quads": "cdiv(patch_rows * patch_columns / 4, THREADS)",
    "own_rows": "(DOWN - 1) * graph_row_step + graph_row_reach + 1",
    "factors": "graph_weighted * up(graph_row_taps * graph_column_taps, 4)",
    "shared_all": "(patches * patch_rows * patch_pitch + (ALONG > 1 ? tile_rows * computed_columns : 0) + DEPTH * factors) * 4",
    "kept": "DOWN * ALONG * (graph_plane_taps > 1 ? under_way + 1 : 1) + ALONG + factors",
    "held": "patches > 1 ? kept + quads * 4 + 32 : max(kept, quads * 4) + 24"
  },
  "restrict": [
    "LANES <= THREADS",
    "MIN_BLOCKS * THREADS <= 2048",
    "quads <= 16",
    "own_rows * ALONG * graph_column_taps * (graph_weighted ? min(DOWN, graph_row_taps) : 1) <= 1024",
    "held <= 255",
    "held * MIN_BLOCKS * THREADS <= dev.registers",
    "(shared_all + 1024) * MIN_BLOCKS <= dev.shared"
  ],
  "registers": "held",
  "plan": {
    "require": [
      "graph_largest <= graph_counted",
      "(graph_plane_count + DEPTH + 1) * graph_plane_step + graph_plane_reach <= 2147483647",
      "(graph_row_count + tile_rows + 1) * graph_row_step + graph_row_reach <= 2147483647",
      "(graph_column_count + tile_columns + 5) * graph_column_step + graph_column_reach <= 2147483647"
    ],
    "let": {
      "tiles": "cdiv(graph_column_count, tile_columns) * cdiv(graph_row_count, tile_rows) * cdiv(graph_plane_count, DEPTH) * graph_outer"
    },
    "launches": [
      {"name": "main", "entry": "window_slide", "grid": ["tiles"], "block": ["THREADS"], "shared": "shared_all", "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "warps": "THREADS / 32",
      "elements": "patch_rows * patch_columns",
      "deep": "min(DEPTH, graph_plane_count)",
      "steps": "(deep - 1) * graph_plane_step + graph_plane_reach + 1",
      "results": "DOWN * ALONG",
      "reads": "own_rows * graph_column_taps * ALONG",
      "folds": "results * graph_row_taps * (graph_weighted ? graph_column_taps : 1)",
      "near": "results * (graph_row_operations + weight.result)"
    },
    "blocks": "tiles",
    "threads": "THREADS",
    "registers": "held",
    "shared_bytes": "shared_all + 1024",
    "rounds": "256 * steps",
    "issue": "256 * warps * (quads * (weight.quad + 4 * graph_operand_operations) + reads * weight.read + folds * weight.fold + weight.step) / 4",
    "shared": "256 * (elements / 32 + warps * reads)",
    "fill": "256 * elements * graph_widest / weight.fill_bytes",
    "chain": "256 * (weight.wait + reads * weight.read_wait)",
    "latency": "256 * weight.latency",
    "ahead": "1",
    "ends": "256 * cdiv(tiles, dev.sms) * deep * warps * near / 4",
    "start": "256 * weight.start",
    "l2": "graph_bytes + tiles * steps * elements * graph_widest",
    "dram": "graph_bytes",
    "traits": {"tile": "256 * results", "lanes": "256 * LANES", "depth": "256 * DEPTH"}
  }
}
*/
// A block walks the planes that DEPTH planes of its tile of results need. Of each a patch of x, all
// that the tile's windows reach, comes to shared memory in loads of four neighbours; a thread folds
// it over the windows of DOWN by ALONG results of its own and keeps what belongs to each plane of
// results that is under way. So an element is loaded once for all windows of a tile. Where windows
// have factors, those of the block's planes lie in shared memory.
constexpr int APART =  // of a thread's results
    ALONG > 1 && Graph::COLUMN_APART <= LANES / 4 ? Graph::COLUMN_APART : 1;
constexpr int GROUPS = THREADS / LANES, TILE_ROWS = GROUPS * DOWN;
constexpr int USED_LANES = LANES / APART * APART, RESULTS = USED_LANES * ALONG;
constexpr int TILE_COLUMNS = RESULTS / 4 * 4;
// A patch begins with the quad that holds the first window's first element.
constexpr int LEAD = Graph::COLUMN_BEGIN & 3;
constexpr int ROW_REACH = Graph::ROW_FAR * (Graph::ROW_TAPS - 1);
constexpr int COLUMN_REACH = Graph::COLUMN_FAR * (Graph::COLUMN_TAPS - 1);
constexpr int PLANE_REACH = Graph::PLANE_FAR * (Graph::PLANE_TAPS - 1);
constexpr int PATCH_ROWS = (TILE_ROWS - 1) * Graph::ROW_STEP + ROW_REACH + 1;
constexpr int ROW_QUADS = ((RESULTS - 1) * Graph::COLUMN_STEP + COLUMN_REACH + LEAD + 4) / 4;
// Columns that lie a whole number of steps apart are neighbours.
constexpr int SPAN = (ROW_QUADS * 4 + Graph::COLUMN_STEP - 1) / Graph::COLUMN_STEP;
constexpr int PITCH = SPAN * Graph::COLUMN_STEP, PATCH = PATCH_ROWS * PITCH;
constexpr int PATCHES = DEPTH > 1 || PLANE_REACH > 0 ? 2 : 1;
constexpr int QUADS = (PATCH_ROWS * ROW_QUADS + THREADS - 1) / THREADS;
constexpr int FACTORS = Graph::ROW_TAPS * Graph::COLUMN_TAPS;  // of a plane
constexpr int FACTOR_PITCH = (FACTORS + 3) / 4 * 4;
constexpr int UNDER_WAY = PLANE_REACH / Graph::PLANE_STEP + 1;  // planes of results

// A block's first results.
struct Tile {
  int outer, plane, row, column;

  __device__ __forceinline__ explicit Tile(const Graph& graph) {
    unsigned number = blockIdx.x;
    const auto take = [&number](unsigned places, unsigned tile) {
      const unsigned count = (places + tile - 1) / tile, own = number % count;
      number /= count;
      return static_cast<int>(own * tile);
    };
    column = take(graph.columns(), TILE_COLUMNS);
    row = take(graph.rows(), TILE_ROWS);
    plane = take(graph.planes(), DEPTH);
    outer = static_cast<int>(number);
  }
};

// A thread's quads of a patch.
struct Share {
  float values[QUADS][4];

  template <bool WIDE>
  __device__ __forceinline__ void fetch(const Graph& graph, const Tile& tile, int plane) {
    const int top = tile.row * Graph::ROW_STEP + Graph::ROW_BEGIN;
    const int left = tile.column * Graph::COLUMN_STEP + Graph::COLUMN_BEGIN - LEAD;
#pragma unroll
    for (int i = 0; i < QUADS; ++i) {
      const int quad = static_cast<int>(threadIdx.x) + i * THREADS;
      // Quads past the patch lie outside of x too.
      const int column = quad < PATCH_ROWS * ROW_QUADS ? left + quad % ROW_QUADS * 4 : -4;
      graph.values<WIDE>(tile.outer, plane, top + quad / ROW_QUADS, column, values[i]);
    }
  }
  __device__ __forceinline__ void put(float* patch) const {
    constexpr int STEP = Graph::COLUMN_STEP;
#pragma unroll
    for (int i = 0; i < QUADS; ++i) {
      const int quad = static_cast<int>(threadIdx.x) + i * THREADS, row = quad / ROW_QUADS;
      if (row >= PATCH_ROWS) continue;
      const int column = quad % ROW_QUADS * 4;
      float* const line = patch + row * PITCH;
      if constexpr (STEP == 1) {
        *reinterpret_cast<float4*>(line + column) =
            make_float4(values[i][0], values[i][1], values[i][2], values[i][3]);
      } else if constexpr (STEP == 2) {
        float* const at = line + column / 2;
        *reinterpret_cast<float2*>(at) = make_float2(values[i][0], values[i][2]);
        *reinterpret_cast<float2*>(at + SPAN) = make_float2(values[i][1], values[i][3]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          line[(column + j) % STEP * SPAN + (column + j) / STEP] = values[i][j];
      }
    }
  }
};

using Sums = float[DOWN][ALONG];

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (int m = 0; m < DOWN; ++m) {
#pragma unroll
    for (int n = 0; n < ALONG; ++n) sums[m][n] = How::nothing();
  }
}

// Adds what `own` holds.
__device__ __forceinline__ void join(Sums& sums, const Sums& own) {
#pragma unroll
  for (int m = 0; m < DOWN; ++m) {
#pragma unroll
    for (int n = 0; n < ALONG; ++n) sums[m][n] = How::of(sums[m][n], own[m][n]);
  }
}

__device__ __forceinline__ constexpr bool is_tap(int from, int far, int taps) {
  return from >= 0 && from % far == 0 && from / far < taps;
}
// True if a row, counted from the thread's first one, belongs to a window.
__device__ __forceinline__ constexpr bool is_row_used(int row) {
  for (int m = 0; m < DOWN; ++m) {
    if (is_tap(row - m * Graph::ROW_STEP, Graph::ROW_FAR, Graph::ROW_TAPS)) return true;
  }
  return false;
}

// Folds a plane over a thread's windows: each row once, for all windows that it belongs to. `from`
// is the first element of its first row's first window.
__device__ __forceinline__ void fold_plane(const float* from, Sums& sums) {
#pragma unroll
  for (int row = 0; row < (DOWN - 1) * Graph::ROW_STEP + ROW_REACH + 1; ++row) {
    if (!is_row_used(row)) continue;
#pragma unroll
    for (int n = 0; n < ALONG; ++n) {
      float sum;
#pragma unroll
      for (int tap = 0; tap < Graph::COLUMN_TAPS; ++tap) {
        const int column = LEAD + tap * Graph::COLUMN_FAR;
        const float value = from[row * PITCH + column % Graph::COLUMN_STEP * SPAN +
                                 column / Graph::COLUMN_STEP + n * APART];
        sum = tap == 0 ? value : How::of(sum, value);
      }
#pragma unroll
      for (int m = 0; m < DOWN; ++m) {
        const int from_first = row - m * Graph::ROW_STEP;
        if (is_tap(from_first, Graph::ROW_FAR, Graph::ROW_TAPS))
          sums[m][n] = from_first == 0 ? sum : How::of(sums[m][n], sum);
      }
    }
  }
}

__device__ __forceinline__ constexpr int place_of(int row, int column, int n) {
  return row * PITCH + column % Graph::COLUMN_STEP * SPAN + column / Graph::COLUMN_STEP + n * APART;
}

// Sums a plane's elements times its factors over a thread's windows; zeros stand for what lies
// outside of x.
__device__ __forceinline__ void fold_weighted(const float* from, const float* factors, Sums& sums) {
  clear(sums);
#pragma unroll
  for (int row = 0; row < (DOWN - 1) * Graph::ROW_STEP + ROW_REACH + 1; ++row) {
    if (!is_row_used(row)) continue;
#pragma unroll
    for (int n = 0; n < ALONG; ++n) {
#pragma unroll
      for (int tap = 0; tap < Graph::COLUMN_TAPS; ++tap) {
        const float value = from[place_of(row, LEAD + tap * Graph::COLUMN_FAR, n)];
#pragma unroll
        for (int m = 0; m < DOWN; ++m) {
          const int from_first = row - m * Graph::ROW_STEP;
          if (!is_tap(from_first, Graph::ROW_FAR, Graph::ROW_TAPS)) continue;
          const float factor = factors[from_first / Graph::ROW_FAR * Graph::COLUMN_TAPS + tap];
          sums[m][n] = How::of(sums[m][n], value * factor);
        }
      }
    }
  }
}

// Brings the factors of a block's planes to shared memory.
__device__ __forceinline__ void bring_factors(const Graph& graph, const Tile& tile, int depth,
                                              float* to) {
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < depth * FACTOR_PITCH; i += THREADS) {
    const int plane = tile.plane + i / FACTOR_PITCH, tap = i % FACTOR_PITCH;
    to[i] = tap < FACTORS ? graph.factor(tile.outer, plane, tap / Graph::COLUMN_TAPS,
                                         tap % Graph::COLUMN_TAPS)
                          : 0.0f;
  }
}

// Brings a thread's results to shared memory.
__device__ __forceinline__ void lay(const Sums& sums, float* to) {
#pragma unroll
  for (int m = 0; m < DOWN; ++m) {
#pragma unroll
    for (int n = 0; n < ALONG; ++n) to[m * RESULTS + n * APART] = sums[m][n];
  }
}

// Stores a group's results of one plane: neighbouring lanes have neighbouring ones, which come by
// way of shared memory where a thread has computed several.
template <bool WHOLE>
__device__ __forceinline__ void store_plane(const Graph& graph, const Tile& tile, int plane,
                                            const Sums& sums, const float* results) {
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const int group = static_cast<int>(threadIdx.x) / LANES;
#pragma unroll
  for (int m = 0; m < DOWN; ++m) {
    const int row = group * DOWN + m;
#pragma unroll
    for (int n = 0; n < ALONG; ++n) {
      const int column = lane + n * LANES;
      const bool present =
          WHOLE || (tile.row + row < graph.rows() && tile.column + column < graph.columns());
      if (present && (TILE_COLUMNS == LANES * ALONG || column < TILE_COLUMNS))
        graph.store(tile.outer, plane, tile.row + row, tile.column + column,
                    ALONG == 1 ? sums[m][0] : results[row * RESULTS + column]);
    }
  }
}

template <bool WIDE>
__device__ __forceinline__ void slide(const Graph& graph, float* memory) {
  const Tile tile(graph);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % LANES;
  // Results that share elements lie APART; lanes beyond those used repeat the last one's work.
  const int used = min(lane, USED_LANES - 1);
  const int row = thread / LANES * DOWN, column = used / APART * (APART * ALONG) + used % APART;
  float* const results = memory + PATCHES * PATCH;
  float* const factors = results + (ALONG > 1 ? TILE_ROWS * RESULTS : 0);
  const int depth = min(DEPTH, graph.planes() - tile.plane);
  const int planes = (depth - 1) * Graph::PLANE_STEP + PLANE_REACH + 1;
  const int front = tile.plane * Graph::PLANE_STEP + Graph::PLANE_BEGIN;
  Share share;
  Sums totals[UNDER_WAY];
#pragma unroll
  for (int i = 0; i < UNDER_WAY; ++i) clear(totals[i]);
  share.fetch<WIDE>(graph, tile, front);
  if constexpr (Graph::WEIGHTED) bring_factors(graph, tile, depth, factors);
#pragma unroll 1
  for (int step = 0, plane = 0; step < depth + UNDER_WAY - 1; ++step) {
#pragma unroll
    for (int i = 0; i < Graph::PLANE_STEP; ++i, ++plane) {
      if (plane >= planes) continue;
      float* const patch = memory + (PATCHES > 1 ? plane % 2 * PATCH : 0);
      share.put(patch);
      __syncthreads();
      if (PATCHES > 1 && plane + 1 < planes) share.fetch<WIDE>(graph, tile, front + plane + 1);
      Sums sums;
      const float* const from = patch + row * Graph::ROW_STEP * PITCH + column;
      if constexpr (Graph::WEIGHTED) {
        fold_weighted(from, factors + step * FACTOR_PITCH, sums);
      } else {
        fold_plane(from, sums);
      }
#pragma unroll
      for (int back = 0; back < UNDER_WAY; ++back) {
        if (is_tap(back * Graph::PLANE_STEP + i, Graph::PLANE_FAR, Graph::PLANE_TAPS))
          join(totals[back], sums);
      }
    }
    // The oldest plane of results is finished.
    const int done = step - (UNDER_WAY - 1);
    if (done >= 0) {
      const Sums& finished = totals[UNDER_WAY - 1];
      if constexpr (ALONG > 1) {
        if (lane == used) lay(finished, results + row * RESULTS + column);
        __syncthreads();
      }
      const int at = tile.plane + done;
      if (tile.row + TILE_ROWS <= graph.rows() && tile.column + TILE_COLUMNS <= graph.columns()) {
        store_plane<true>(graph, tile, at, finished, results);
      } else {
        store_plane<false>(graph, tile, at, finished, results);
      }
    }
#pragma unroll
    for (int i = UNDER_WAY - 1; i > 0; --i) {
#pragma unroll
      for (int m = 0; m < DOWN; ++m) {
#pragma unroll
        for (int n = 0; n < ALONG; ++n) totals[i][m][n] = totals[i - 1][m][n];
      }
    }
    clear(totals[0]);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) window_slide(GRAPH_PARAMETERS) {
  extern __shared__ __align__(16) float memory[];
  const Graph graph{GRAPH_ARGUMENTS};
  if (graph.is_wide()) {
    slide<true>(graph, memory);
  } else {
    slide<false>(graph, memory);
  }
}
