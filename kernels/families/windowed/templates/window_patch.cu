/* cupilot tunable 2
{
  "name": "window_patch",
  "family": "windowed",
  "anchor": "window",
  "summary": "a convolution by wgmma, for sm_90a: a patch of x is rounded once and kept in shared memory, where every tap finds its places as a shifted matrix",
  "provides": ["window_patch"],
  "requires": ["window_patch"],
  "when": ["class.tf32 || class.fp32_emulated || class.bf16x3 || class.bf16 || class.fp16"],
  "parameters": {
    "GROUPS": {"name": "groups", "technique": "window_patch", "domain": [1, 2, 3], "plain": 2},
    "PARTS": {"name": "parts", "technique": "window_patch", "domain": [1, 2, 3, 4], "plain": 2},
    "BLOCK_N": {"name": "tile_n", "technique": "window_patch", "domain": [8, 16, 24, 32, 48, 64, 96, 128, 192], "plain": 64},
    "LINE": {"name": "line", "technique": "window_patch", "domain": [8, 64], "plain": 8},
    "ACROSS": {"name": "across_parts", "technique": "window_patch", "domain": [1, 2, 4, 8], "plain": 2},
    "CHANNELS": {"name": "channels", "technique": "window_patch", "domain": [8, 16, 32], "plain": 8},
    "STEPS": {"name": "steps", "technique": "window_patch", "domain": [1, 2, 3, 4, 5, 6, 8, 9], "plain": 3},
    "STAGES": {"name": "ring", "technique": "window_patch", "domain": [2, 3, 4, 6, 8], "plain": 3},
    "STAY": {"name": "stay", "technique": "window_patch", "domain": [0, 1], "plain": 0},
    "FILL": {"name": "fillers", "technique": "window_patch", "domain": [3, 7], "plain": 3},
    "JOIN": {"name": "joined", "technique": "window_patch", "domain": [0, 1, 2], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3], "plain": 1}
  },
  "let": {
    "threads": "128 * GROUPS + 32 * (FILL + 1)",
    "joined": "(JOIN > 0 ? graph_column_phases : 1) * (JOIN > 1 ? graph_row_phases : 1)",
    "pieces": "GROUPS * PARTS",
    "tile_rows": "64 / LINE * (pieces / ACROSS)",
    "tile_columns": "LINE * ACROSS",
    "patch_rows": "(tile_rows - 1) * graph_row_step + (JOIN > 1 ? graph_row_all_reach : graph_row_reach) + 1",
    "patch_columns": "(tile_columns - 1) * graph_column_step + (JOIN > 0 ? graph_column_all_reach : graph_column_reach) + 1",
    "patch_pitch": "cdiv(patch_columns, graph_column_step) * graph_column_step",
    "patch_bytes": "graph_planes * CHANNELS * patch_rows * patch_pitch * 4",
    "slab_steps": "graph_taps * CHANNELS / 8",
    "step_bytes": "graph_planes * 32 * BLOCK_N",
    "ring_bytes": "2 * patch_bytes + STAGES * STEPS * step_bytes",
    "laid_bytes": "32 * (64 * pieces * joined + 4)",
    "shared_all": "STAY ? ring_bytes + min(2, BLOCK_N / 8) * laid_bytes : max(ring_bytes, laid_bytes)",
    "sums": "PARTS * BLOCK_N / 2 * joined",
    "held": "sums + 2 * PARTS + 28"
  },
  "restrict": [
    "dev.cc == 90",
    "JOIN == 0 || (JOIN > 1 ? graph_row_phases : graph_column_phases) > 1",
    "pieces % ACROSS == 0",
    "STEPS <= slab_steps",
    "patch_rows * patch_pitch <= 16383",
    "held <= 255",
    "max(held, 80) * threads * MIN_BLOCKS <= dev.registers",
    "(shared_all + 2048) * MIN_BLOCKS <= dev.shared"
  ],
  "registers": "max(held, 80)",
  "plan": {
    "require": ["graph_largest <= 2147483648"],
    "let": {
      "tiles": "cdiv(graph_down, tile_rows) * cdiv(graph_across, tile_columns) * graph_outer * cdiv(graph_n, BLOCK_N)",
      "slabs": "graph_outer_taps * cdiv(graph_channels, CHANNELS)",
      "quads": "graph_batch * cdiv(graph_n, BLOCK_N) * slabs * slab_steps * 2 * BLOCK_N"
    },
    "buffers": [{"name": "ordered", "bytes": "quads * graph_planes * 16"}],
    "launches": [
      {"name": "order", "entry": "window_order", "grid": ["cdiv(quads, 256)"], "block": [256], "args": ["graph", "ordered"]},
      {"name": "main", "entry": "window_patch", "grid": ["STAY ? min(tiles * graph_batch / joined, dev.sms * MIN_BLOCKS) : tiles * graph_batch / joined"], "block": ["threads"], "shared": "shared_all + 128", "args": ["graph", "ordered"]}
    ]
  },
  "model": {
    "let": {
      "products": "graph_planes == 2 ? 3 : 1",
      "elements": "CHANNELS * patch_rows * patch_columns",
      "rate": "dev.ops.tf32 > 0 ? dev.ops.tf32 : weight.rate",
      "blocks_all": "tiles * graph_batch / joined",
      "apart": "(JOIN > 1 ? 1 : graph_row_phases) * (JOIN > 0 ? 1 : graph_column_phases)",
      "taps_all": "graph_row_all_taps * graph_column_all_taps",
      "reached": "joined > 1 ? 256 : min(256, 256 * taps_all / (apart * graph_taps))",
      "round_steps": "256 * taps_all * CHANNELS / 8 * 256 / (apart * reached)",
      "round_stages": "max(256 * joined, round_steps / STEPS)",
      "rounds_all": "reached * cdiv(graph_channels, CHANNELS) * graph_outer_all_taps * graph_row_phases * graph_column_phases / graph_phases",
      "strided": "JOIN > 0 ? 1 : min(8, graph_column_phases)",
      "turn": "STAY ? min(2, BLOCK_N / 8) : max(1, min(BLOCK_N / 8, ring_bytes / laid_bytes))",
      "stores": "2 * pieces * joined * (BLOCK_N * (weight.result + weight.strided * strided + graph_row_operations) + cdiv(BLOCK_N, 8 * turn) * weight.turn)"
    },
    "blocks": "blocks_all",
    "threads": "threads",
    "registers": "max(held, weight.registers)",
    "shared_bytes": "shared_all + 2048",
    "rounds": "rounds_all",
    "math": "pieces * products * 1024 * max(BLOCK_N, 32 + BLOCK_N / 2) * round_steps / rate * weight.math_percent / 100",
    "issue": "(256 * elements * weight.element / 128 * (graph_planes == 2 ? weight.split : 100) / 100 + 8 * elements * graph_operand_operations + 4 * GROUPS * (round_steps * PARTS * products * weight.product + round_stages * weight.stage)) / 4",
    "shared": "256 * elements * graph_planes / 32 + pieces * products * round_steps * (16 + BLOCK_N / 4)",
    "fill": "(256 * elements * graph_widest + round_steps * step_bytes) / weight.fill_bytes",
    "chain": "256 * weight.wait + weight.stage_wait * round_stages",
    "latency": "256 * weight.latency * cdiv(elements, 1024 * FILL)",
    "ahead": "1",
    "ends": "256 * cdiv(blocks_all, dev.sms) * (stores / 4 + threads * weight.warpgroup_end / 128 + (STAY ? weight.stay_end : weight.end + weight.latency * cdiv(elements, 1024 * FILL)) / model.resident)",
    "start": "256 * weight.start",
    "l2": "(graph_bytes + blocks_all * rounds_all / 256 * (elements * graph_widest + round_steps * step_bytes / 256) + 4 * graph_batch * graph_m * graph_n * (strided - 1)) * weight.l2_percent / 100",
    "dram": "graph_bytes",
    "launches": "2",
    "traits": {"tile": "256 * sums", "slab": "256 * CHANNELS", "groups": "256 * GROUPS", "line": "256 * LINE", "stay": "256 + 256 * STAY", "join": "256 + 256 * JOIN"}
  }
}
*/
// A block computes a rectangle of places, of GROUPS PARTS pieces of 64, by BLOCK_N channels. It
// walks taps of outer sides and slabs of CHANNELS channels; of each a patch of x, all that the
// rectangle's places need, comes rounded to shared memory, four channels of an element together.
// So eight neighbouring places are eight rows of a matrix without swizzle, wherever a tap moves
// them. Three warps fill patches, one orders weights copied, which another kernel has rounded and
// laid out as they are multiplied; warpgroups of consumers do nothing but multiply.
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/bulk_copy.cuh"
#include "cupilot/ring.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/planes.cuh"

constexpr int FILLERS = 32 * FILL, THREADS = 128 * GROUPS + FILLERS + 32;
// Phases of columns and of rows that a block computes from one patch and stores together.
constexpr int COLUMNS_JOINED = JOIN > 0 ? Graph::COLUMN_PHASES : 1;
constexpr int ROWS_JOINED = JOIN > 1 ? Graph::ROW_PHASES : 1;
constexpr int JOINED = ROWS_JOINED * COLUMNS_JOINED;
constexpr int ROW_REACH = ROWS_JOINED > 1 ? Graph::ROW_ALL_REACH : Graph::ROW_REACH;
constexpr int COLUMN_REACH = COLUMNS_JOINED > 1 ? Graph::COLUMN_ALL_REACH : Graph::COLUMN_REACH;
constexpr int PIECE_ROWS = 64 / LINE, TILE_ROWS = PIECE_ROWS * (GROUPS * PARTS / ACROSS);
constexpr int TILE_COLUMNS = LINE * ACROSS;
constexpr int PATCH_ROWS = (TILE_ROWS - 1) * Graph::ROW_STEP + ROW_REACH + 1;
constexpr int PATCH_COLUMNS = (TILE_COLUMNS - 1) * Graph::COLUMN_STEP + COLUMN_REACH + 1;
// Columns that lie a whole number of steps apart are neighbours.
constexpr int SPAN = (PATCH_COLUMNS + Graph::COLUMN_STEP - 1) / Graph::COLUMN_STEP;
constexpr int PITCH = SPAN * Graph::COLUMN_STEP, PATCH = PATCH_ROWS * PITCH;
constexpr int QUADS = CHANNELS / 4, DEPTHS = CHANNELS / 8;
constexpr int PATCH_BYTES = PLANES * QUADS * PATCH * 16;
constexpr int STEP_BYTES = PLANES * 32 * BLOCK_N, STAGE_BYTES = STEPS * STEP_BYTES;
constexpr int MOST_STEPS = Graph::MOST_TAPS * DEPTHS;
// Results leave by way of shared memory, TURN times eight channels at once: of blocks that stay
// behind the rings, in which the next tile's patch is under way already.
constexpr int CONSUMERS = 128 * GROUPS, PLACES = 64 * GROUPS * PARTS;
constexpr int LAID = PLACES * JOINED + 4;
constexpr int EIGHTS = BLOCK_N / 8, RING_BYTES = 2 * PATCH_BYTES + STAGES * STAGE_BYTES;
constexpr int FITTING = STAY != 0 ? 2 : RING_BYTES / (32 * LAID);
constexpr int TURN = FITTING < 1 ? 1 : FITTING < EIGHTS ? FITTING : EIGHTS;

// A matrix whose lines run along K in shared memory without swizzle: units of 16 bytes, eight lines
// of which lie together; how far the second unit of a line and the next eight lines lie. Its lower
// half, which moves with the address, and the upper one, which stays.
__device__ __forceinline__ unsigned lower_half(unsigned address, int next_unit) {
  return (address & 0x3ffff) >> 4 | static_cast<unsigned>(next_unit) << 16;
}
__device__ __forceinline__ unsigned long long unit_descriptor(unsigned lower, int next_lines) {
  return static_cast<unsigned long long>(next_lines) << 32 | lower;
}
constexpr int PLACES_LINES = LINE == 8 ? Graph::ROW_STEP * PITCH : 8, CHANNELS_LINES = 8;

// Four neighbouring channels into each plane, whose units lie `apart`.
__device__ __forceinline__ void put_planes(float (&of)[4], uint4* to, int apart) {
#pragma unroll
  for (int plane = 0; plane < PLANES; ++plane) to[plane * apart] = plane_of(of);
}

// Taps of a phase and the place of their first in a patch.
struct Phase {
  int rows, columns, row, column;
};

// A block's work.
struct Work {
  Graph::Batch batch;
  Graph::Taps taps;
  int outer, row, column, channel;  // first places, first channel of results
  int number;                       // of the batch, the first of those joined
  int slabs, rounds;                // of channels, all
  long long weights, each;          // bytes before the first of its own, of a phase

  __device__ __forceinline__ Work(const Graph& graph, int block) {
    const int batches = graph.batches() / JOINED;
    number = block % batches * JOINED;
    batch = graph.batch_place(number);
    taps = graph.window_taps(batch);
    int tile = block / batches;
    const int over = (graph.n_count() + BLOCK_N - 1) / BLOCK_N;
    const int along = (graph.window_columns() + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const int down = (graph.window_rows() + TILE_ROWS - 1) / TILE_ROWS;
    const int first = tile % over;
    tile /= over;
    column = tile % along * TILE_COLUMNS;
    tile /= along;
    row = tile % down * TILE_ROWS;
    outer = tile / down;
    channel = first * BLOCK_N;
    slabs = (graph.window_channels() + CHANNELS - 1) / CHANNELS;
    int all = 0;
#pragma unroll
    for (int one = 0; one < JOINED; ++one) all += steps_of(phase(graph, one));
    rounds = all > 0 ? taps.outer * slabs : 0;
    const long long slab =
        static_cast<long long>(Graph::OUTER_TAPS * slabs) * (MOST_STEPS * STEP_BYTES);
    weights = (static_cast<long long>(number) * over + first) * slab;
    each = over * slab;
  }
  // One of those joined: its taps along a side of joined phases are the same in all batches.
  __device__ __forceinline__ Phase phase(const Graph& graph, int one) const {
    const Graph::Batch same = graph.batch_place(one);
    const Graph::Taps own = graph.window_taps(same);
    Phase out;
    out.rows = ROWS_JOINED > 1 ? own.rows : taps.rows;
    out.columns = COLUMNS_JOINED > 1 ? own.columns : taps.columns;
    out.row = ROWS_JOINED > 1      ? graph.window_row(same, 0, 0) - graph.first_row(0)
              : Graph::ROW_FAR < 0 ? (out.rows - 1) * -Graph::ROW_FAR
                                   : 0;
    out.column = COLUMNS_JOINED > 1      ? graph.window_column(same, 0, 0) - graph.first_column(0)
                 : Graph::COLUMN_FAR < 0 ? (out.columns - 1) * -Graph::COLUMN_FAR
                                         : 0;
    return out;
  }
  __device__ __forceinline__ static int steps_of(const Phase& phase) {
    return phase.rows * phase.columns * DEPTHS;
  }
};

// Tiles of a launch.
__device__ __forceinline__ int all_tiles(const Graph& graph) {
  return (graph.n_count() + BLOCK_N - 1) / BLOCK_N *
         ((graph.window_columns() + TILE_COLUMNS - 1) / TILE_COLUMNS) *
         ((graph.window_rows() + TILE_ROWS - 1) / TILE_ROWS) * graph.window_outer() *
         (graph.batches() / JOINED);
}

// Rounds and lays out all weights: for each batch, tile of channels, outer tap, slab and step (a
// tap with eight channels) a matrix of BLOCK_N lines.
extern "C" __global__ void __launch_bounds__(256)
    window_order(GRAPH_PARAMETERS, uint4* __restrict__ ordered) {
  const Graph graph{GRAPH_ARGUMENTS};
  const int over = (graph.n_count() + BLOCK_N - 1) / BLOCK_N;
  const int slabs = (graph.window_channels() + CHANNELS - 1) / CHANNELS;
  long long rest = blockIdx.x * 256ll + threadIdx.x;
  const int line = static_cast<int>(rest % BLOCK_N), quad = static_cast<int>(rest / BLOCK_N % 2);
  rest /= 2 * BLOCK_N;
  const long long step_number = rest;
  const int step = static_cast<int>(rest % MOST_STEPS);
  rest /= MOST_STEPS;
  const int slab = static_cast<int>(rest % slabs);
  rest /= slabs;
  const int outer = static_cast<int>(rest % Graph::OUTER_TAPS);
  rest /= Graph::OUTER_TAPS;
  const int tile = static_cast<int>(rest % over), number = static_cast<int>(rest / over);
  if (number >= graph.batches()) return;
  const Graph::Batch batch = graph.batch_place(number);
  const Graph::Taps taps = graph.window_taps(batch);
  const int tap = step / DEPTHS;
  if (tap >= taps.rows * taps.columns || outer >= taps.outer) return;
  const Graph::Right right = graph.right_place(batch, tile * BLOCK_N + line);
  float values[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int channel = slab * CHANNELS + step % DEPTHS * 8 + quad * 4 + i;
    values[i] = 0.0f;
    if (channel < graph.window_channels() && right.present) {
      const int term =
          graph.window_term(batch, channel, outer, tap / taps.columns, tap % taps.columns);
      values[i] = graph.right_factor(right, graph.term_place(batch, term));
    }
  }
  put_planes(values, ordered + step_number * (PLANES * 2 * BLOCK_N) + quad * BLOCK_N + line,
             2 * BLOCK_N);
}

struct Rings {
  unsigned patches, stages;  // shared addresses
  unsigned full_patch, empty_patch, full_stage, empty_stage;
};

// Fills patches: one of FILLERS threads.
__device__ __forceinline__ void fill(const Graph& graph, const Work& work, const Rings& rings,
                                     unsigned char* memory, int thread, Ring<2>& ring) {
  constexpr int EACH = PATCH_ROWS * PATCH_COLUMNS, ITEMS = QUADS * EACH;
  constexpr int MOST = (ITEMS + FILLERS - 1) / FILLERS, BATCH = MOST < 8 ? MOST : 8;
  const int top = ROWS_JOINED > 1 ? graph.first_row(work.row)
                                  : graph.window_row(work.batch, work.row,
                                                     Graph::ROW_FAR < 0 ? work.taps.rows - 1 : 0);
  const int left = COLUMNS_JOINED > 1
                       ? graph.first_column(work.column)
                       : graph.window_column(work.batch, work.column,
                                             Graph::COLUMN_FAR < 0 ? work.taps.columns - 1 : 0);
#pragma unroll 1
  for (int round = 0; round < work.rounds; ++round, ring.advance()) {
    const Graph::Slice slice = graph.window_slice(work.batch, work.outer, round / work.slabs);
    const int channel = round % work.slabs * CHANNELS;
    uint4* const patch = reinterpret_cast<uint4*>(memory + ring.stage * PATCH_BYTES);
#pragma unroll 1
    for (int first = 0; first < ITEMS; first += FILLERS * BATCH) {
      float values[BATCH][4];
#pragma unroll
      for (int i = 0; i < BATCH; ++i) {
        const int item = first + i * FILLERS + thread, place = item % EACH;
        const int own = item < ITEMS ? channel + item / EACH * 4 : 1 << 30;
        graph.window_values(work.batch, slice, own, top + place / PATCH_COLUMNS,
                            left + place % PATCH_COLUMNS, values[i]);
      }
      if (first == 0) wait_barrier(rings.empty_patch + ring.stage * 8, ring.parity ^ 1);
#pragma unroll
      for (int i = 0; i < BATCH; ++i) {
        const int item = first + i * FILLERS + thread, place = item % EACH;
        const int column = place % PATCH_COLUMNS;
        if (item < ITEMS)
          put_planes(values[i],
                     patch + item / EACH * PATCH + place / PATCH_COLUMNS * PITCH +
                         column % Graph::COLUMN_STEP * SPAN + column / Graph::COLUMN_STEP,
                     QUADS * PATCH);
      }
    }
    fence_for_copies();
    __syncwarp();
    if (thread % 32 == 0) arrive(rings.full_patch + ring.stage * 8);
  }
}

// Copies weights: one thread.
__device__ __forceinline__ void copy_weights(const Graph& graph, const Work& work,
                                             const Rings& rings, const uint4* ordered,
                                             Ring<STAGES>& ring) {
  const char* from = reinterpret_cast<const char*>(ordered) + work.weights;
#pragma unroll 1
  for (int round = 0; round < work.rounds; ++round, from += MOST_STEPS * STEP_BYTES) {
#pragma unroll
    for (int one = 0; one < JOINED; ++one) {
      const int steps = Work::steps_of(work.phase(graph, one));
#pragma unroll 1
      for (int first = 0; first < steps; first += STEPS, ring.advance()) {
        const int bytes = min(STEPS, steps - first) * STEP_BYTES;
        const unsigned full = rings.full_stage + ring.stage * 8;
        wait_barrier(rings.empty_stage + ring.stage * 8, ring.parity ^ 1);
        arrive_expecting(full, bytes);
        copy_bulk(rings.stages + ring.stage * STAGE_BYTES,
                  from + one * work.each + first * STEP_BYTES, bytes, full);
      }
    }
  }
}

// Units from the patch's first element to a tap's.
__device__ __forceinline__ int tap_distance(const Phase& phase, int row, int column) {
  const int across = phase.column + column * Graph::COLUMN_FAR;
  return (phase.row + row * Graph::ROW_FAR) * PITCH + across % Graph::COLUMN_STEP * SPAN +
         across / Graph::COLUMN_STEP;
}

struct Sums {
  float at[JOINED][PARTS][BLOCK_N / 2];

  __device__ __forceinline__ Sums() {
#pragma unroll
    for (int one = 0; one < JOINED; ++one) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
#pragma unroll
        for (int i = 0; i < BLOCK_N / 2; ++i) at[one][part][i] = 0.0f;
      }
    }
  }
  __device__ __forceinline__ void settle_all() {
#pragma unroll
    for (int one = 0; one < JOINED; ++one) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) settle(at[one][part]);
    }
  }
  // Brings results of TURN times eight channels to shared memory, in the order of places.
  __device__ __forceinline__ void lay(float* to, int first) const {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
#pragma unroll
    for (int i = 0; i < 2 * PARTS; ++i) {
      const int piece = thread / 128 * PARTS + i / 2;
      const int in_piece = thread % 128 / 32 * 16 + lane / 4 + i % 2 * 8;
      const int row = piece / ACROSS * PIECE_ROWS + in_piece / LINE;
      const int column = piece % ACROSS * LINE + in_piece % LINE;
      float* const at = to + row * ROWS_JOINED * (TILE_COLUMNS * COLUMNS_JOINED) +
                        column * COLUMNS_JOINED + lane % 4 * 2 * LAID;
#pragma unroll
      for (int one = 0; one < JOINED; ++one) {
        const int far =
            one / COLUMNS_JOINED * (TILE_COLUMNS * COLUMNS_JOINED) + one % COLUMNS_JOINED;
#pragma unroll
        for (int j = 0; j < TURN; ++j) {
          if (first + j >= EIGHTS) continue;
#pragma unroll
          for (int r = 0; r < 2; ++r)
            at[(j * 8 + r) * LAID + far] = this->at[one][i / 2][(first + j) * 4 + i % 2 * 2 + r];
        }
      }
    }
    named_wait(1, CONSUMERS);
  }
  // Products of one step of a phase.
  __device__ __forceinline__ void add(int one, const unsigned (&places)[PARTS], int far,
                                      unsigned channels) {
#pragma unroll
    for (int product = PLANES > 1 ? 0 : 2; product < 3; ++product) {
      const int of_a = product == 0, of_b = product == 1;
#pragma unroll
      for (int part = 0; part < PARTS; ++part)
        Wgmma<BLOCK_N>::template multiply<float, 0, 0>(
            at[one][part], unit_descriptor(places[part] + far + of_a * QUADS * PATCH, PLACES_LINES),
            unit_descriptor(channels + of_b * 2 * BLOCK_N, CHANNELS_LINES), 1);
    }
  }
};

// Stores what was laid there: neighbouring lanes have neighbouring places.
__device__ __forceinline__ void store_laid(const Graph& graph, const Work& work, const float* from,
                                           int first) {
  constexpr int ALL = PLACES * JOINED, SHARES = CONSUMERS > ALL ? CONSUMERS / ALL : 1;
  constexpr int WIDE = TILE_COLUMNS * COLUMNS_JOINED;
  const int thread = static_cast<int>(threadIdx.x), share = SHARES > 1 ? thread / ALL : 0;
  const int rows = graph.window_rows(), columns = graph.window_columns();
#pragma unroll 1
  for (int item = thread - share * ALL; item < ALL; item += CONSUMERS) {
    const int down = item / WIDE, across = item % WIDE;
    const int row = work.row + down / ROWS_JOINED, column = work.column + across / COLUMNS_JOINED;
    if (row >= rows || column >= columns) continue;
    const int one = down % ROWS_JOINED * COLUMNS_JOINED + across % COLUMNS_JOINED;
    const Graph::Batch batch = JOINED > 1 ? graph.batch_place(work.number + one) : work.batch;
    const Graph::Left left = graph.left_place(batch, (work.outer * rows + row) * columns + column);
    if (!left.present) continue;
#pragma unroll 4
    for (int i = share; i < min(TURN * 8, BLOCK_N - first); i += SHARES) {
      const Graph::Right right = graph.right_place(batch, work.channel + first + i);
      if (right.present) graph.store(left, right, from[i * LAID + item]);
    }
  }
}

__device__ __forceinline__ void consume(const Graph& graph, const Work& work, const Rings& rings,
                                        float* leaving, Ring<2>& patch, Ring<STAGES>& stage) {
  const int thread = static_cast<int>(threadIdx.x), group = __shfl_sync(~0u, thread / 128, 0),
            lane = thread % 32;
  unsigned places[PARTS];
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    const int piece = group * PARTS + part;
    const int far = piece / ACROSS * PIECE_ROWS * Graph::ROW_STEP * PITCH + piece % ACROSS * LINE;
    places[part] = lower_half(rings.patches + far * 16, PATCH);
  }
  Sums sums;
  int behind_patch = -1, behind_stage = -1;
#pragma unroll 1
  for (int round = 0; round < work.rounds; ++round, patch.advance()) {
    const int base = patch.stage * (PATCH_BYTES / 16);
    wait_barrier(rings.full_patch + patch.stage * 8, patch.parity);
#pragma unroll
    for (int one = 0; one < JOINED; ++one) {
      const Phase phase = work.phase(graph, one);
      const int steps = Work::steps_of(phase);
      int row = 0, column = 0, depth = 0, tap = tap_distance(phase, 0, 0);
#pragma unroll 1
      for (int first = 0; first < steps; first += STEPS, stage.advance()) {
        unsigned channels = lower_half(rings.stages + stage.stage * STAGE_BYTES, BLOCK_N);
        wait_barrier(rings.full_stage + stage.stage * 8, stage.parity);
        int left = min(STEPS, steps - first);  // one at least
#pragma unroll 1
        do {
          multiply_fence();
          sums.add(one, places, base + tap + depth * 2 * PATCH, channels);
          channels += STEP_BYTES / 16;
          if (++depth == DEPTHS) {
            depth = 0;
            if (++column == phase.columns) column = 0, ++row;
            tap = tap_distance(phase, row, column);
          }
        } while (--left > 0);
        multiply_fence();  // or the compiler adds one, behind the loop
        multiply_commit();
        multiply_wait<1>();
        if (lane == 0 && behind_stage >= 0) arrive(rings.empty_stage + behind_stage * 8);
        if (lane == 0 && behind_patch >= 0) arrive(rings.empty_patch + behind_patch * 8);
        behind_stage = stage.stage;
        behind_patch = -1;
      }
    }
    behind_patch = patch.stage;
  }
  multiply_wait<0>();
  sums.settle_all();
  if constexpr (STAY != 0) {
    if (lane == 0 && behind_stage >= 0) arrive(rings.empty_stage + behind_stage * 8);
    if (lane == 0 && behind_patch >= 0) arrive(rings.empty_patch + behind_patch * 8);
  }
#pragma unroll
  for (int first = 0; first < EIGHTS; first += TURN) {
    if (STAY == 0 && first == 0) named_wait(1, CONSUMERS);
    sums.lay(leaving, first);
    store_laid(graph, work, leaving, first * 8);
    __syncwarp();
    named_wait(1, CONSUMERS);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    window_patch(GRAPH_PARAMETERS, const uint4* __restrict__ ordered) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barrier barriers[4 + 2 * STAGES];
  const Graph graph{GRAPH_ARGUMENTS};
  const unsigned at = shared_address(barriers);
  const Rings rings = {
      shared_address(memory), shared_address(memory) + 2 * PATCH_BYTES, at, at + 16, at + 32,
      at + 32 + 8 * STAGES};
  if (threadIdx.x == 0) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      init_barrier(rings.full_patch + i * 8, FILLERS / 32);
      init_barrier(rings.empty_patch + i * 8, 4 * GROUPS);
    }
#pragma unroll
    for (int i = 0; i < STAGES; ++i) {
      init_barrier(rings.full_stage + i * 8, 1);
      init_barrier(rings.empty_stage + i * 8, 4 * GROUPS);
    }
    publish_barriers();
  }
  __syncthreads();
  const int beside = static_cast<int>(threadIdx.x) - 128 * GROUPS;
  float* const leaving = reinterpret_cast<float*>(memory + (STAY != 0 ? RING_BYTES : 0));
  Ring<2> patch;
  Ring<STAGES> stage;
  const auto compute = [&](int tile) {
    const Work work(graph, tile);
    if (beside < 0) {
      consume(graph, work, rings, leaving, patch, stage);
    } else if (beside < FILLERS) {
      fill(graph, work, rings, memory, beside, patch);
    } else if (beside == FILLERS) {
      copy_weights(graph, work, rings, ordered, stage);
    }
  };
  int tile = static_cast<int>(blockIdx.x);
  if constexpr (STAY == 0) {
    compute(tile);
  } else {
    const int tiles = all_tiles(graph);
#pragma unroll 1
    for (; tile < tiles; tile += static_cast<int>(gridDim.x)) compute(tile);
  }
}
