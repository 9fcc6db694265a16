/* cupilot tunable 2
{
  "name": "window_stream",
  "family": "windowed",
  "anchor": "window",
  "summary": "a convolution of single taps as a stream, for sm_90a: weights stay in registers while x comes by bulk copies and is read from DRAM once",
  "provides": ["window_stream"],
  "requires": ["window_stream"],
  "when": ["class.tf32 || class.fp32_emulated || class.bf16x3 || class.bf16 || class.fp16"],
  "parameters": {
    "PLACES": {"name": "places", "technique": "window_stream", "domain": [32, 64, 128, 256, 512], "plain": 128},
    "BLOCK_N": {"name": "tile_n", "technique": "window_stream", "domain": [8, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256], "plain": 128},
    "CHANNELS": {"name": "channels", "technique": "window_stream", "domain": [8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 256], "plain": 64},
    "WARP_M": {"name": "warp_m", "technique": "window_stream", "domain": [16, 32, 64], "plain": 32},
    "WARP_N": {"name": "warp_n", "technique": "window_stream", "domain": [8, 16, 24, 32, 40, 48, 56, 64], "plain": 32},
    "SIDES": {"name": "sides", "technique": "window_stream", "domain": [1, 2, 4], "plain": 2},
    "STAGES": {"name": "ring", "technique": "window_stream", "domain": [2, 3, 4, 6, 8], "plain": 4},
    "COPIERS": {"name": "copiers", "technique": "window_stream", "domain": [1, 2, 4], "plain": 1},
    "LAY": {"name": "lay", "technique": "window_stream", "domain": [0, 1], "plain": 1},
    "EVICT": {"name": "evict", "technique": "window_stream", "domain": [0, 1], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1}
  },
  "let": {
    "warps": "BLOCK_N / WARP_N * SIDES",
    "threads": "32 * (warps + COPIERS)",
    "stage_bytes": "CHANNELS * (PLACES + 8) * 4",
    "turn": "WARP_N % 16 == 0 ? 16 : 8",
    "laid_bytes": "LAY * turn * (WARP_M + 4) * 4",
    "shared_all": "STAGES * stage_bytes + warps * laid_bytes",
    "sums": "WARP_M * WARP_N / 32",
    "held": "WARP_N * CHANNELS / 32 * graph_planes + sums + WARP_M / 4 * graph_planes + 40"
  },
  "restrict": [
    "dev.cc == 90",
    "graph_taps * graph_outer_taps == 1",
    "BLOCK_N % WARP_N == 0",
    "PLACES % (WARP_M * SIDES) == 0",
    "LAY == 0 || WARP_M >= 32",
    "warps >= 2 && threads <= 1024",
    "held <= 255",
    "held * up(threads, 128) * MIN_BLOCKS <= dev.registers",
    "(shared_all + 2048) * MIN_BLOCKS <= dev.shared"
  ],
  "registers": "held",
  "plan": {
    "require": ["graph_largest <= 2147483648", "graph_phases == 1", "graph_k <= CHANNELS"],
    "let": {
      "own": "cdiv(graph_n, BLOCK_N) * graph_batch",
      "tiles": "graph_outer * cdiv(graph_down * graph_across, PLACES)"
    },
    "launches": [
      {"name": "main", "entry": "window_stream", "grid": ["own * max(1, min(tiles, dev.sms * MIN_BLOCKS / own))"], "block": ["threads"], "shared": "shared_all + 128", "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "depth": "min(CHANNELS, up(graph_k, 8))",
      "pieces": "PLACES / WARP_M * min(BLOCK_N / WARP_N, cdiv(graph_n, WARP_N))",
      "products": "WARP_M * WARP_N * depth / 1024 * (graph_planes == 2 ? 3 : 1)",
      "reads": "WARP_M * depth / 32",
      "near": "sums * ((graph_operations - graph_operand_operations) * weight.operations / 100 + weight.result + LAY) + (LAY ? WARP_M / 32 : WARP_M / 8) * weight.row",
      "partial": "LAY * (graph_n % turn) * (WARP_M / 32)",
      "plane": "graph_down * graph_across",
      "wide": "graph_widest != 4 ? 0 : graph_load_step != 1 ? 1 : plane % 4 == 0 ? 4 : plane % 2 == 0 ? 2 : 1",
      "copies": "PLACES * graph_k / (32 * max(1, wide))",
      "rate": "dev.ops.tf32 > 0 ? dev.ops.tf32 : weight.rate"
    },
    "blocks": "tiles * own",
    "threads": "threads",
    "registers": "min(held, dev.registers / (up(threads, 128) * MIN_BLOCKS))",
    "shared_bytes": "shared_all + 2048",
    "math": "256 * pieces * products * 2048 * weight.gaps / (rate * 100)",
    "issue": "256 * (pieces * (products + reads * (LAY ? weight.laid_read : weight.read) / 100 * graph_planes + near + weight.piece) + PLACES / WARP_M * partial * weight.partial + (wide == 4 ? weight.channel_copy * graph_k / 32 : copies * (wide ? weight.element_copy : weight.element_load)) + PLACES * graph_k / 32 * graph_operand_operations) / 4",
    "shared": "256 * (PLACES * graph_k / 32 * (wide == 4 ? 1 : 2) + pieces * (reads + sums * (LAY ? 3 : 4)))",
    "fill": "256 * PLACES * graph_k * graph_widest / weight.fill_bytes",
    "chain": "256 * (weight.wait + PLACES / (WARP_M * SIDES) * (max(products * weight.product_wait, depth / 8 * weight.step_wait) + near + partial * weight.partial_wait + weight.piece_wait))",
    "latency": "256 * weight.latency",
    "ahead": "STAGES - 1",
    "pace": "256 * (weight.copy_pace + (wide == 4 ? graph_k * weight.channel_pace : wide == 0 ? PLACES / 32 * cdiv(graph_k, 16 * COPIERS) * weight.load_pace : copies * weight.element_pace))",
    "ends": "256 * (weight.end + WARP_N * CHANNELS / weight.end_rate)",
    "start": "256 * weight.start",
    "l2": "graph_bytes + (cdiv(graph_n, BLOCK_N) - 1) * graph_batch * graph_m * graph_k * 4",
    "dram": "graph_bytes",
    "traits": {"tile": "256 * PLACES", "warp": "256 * sums", "stages": "256 * STAGES", "lay": "256 + 256 * LAY"}
  }
}
*/
// A block keeps the weights of BLOCK_N channels in the registers of its warps, each those of
// WARP_N, and stays. Copying warps bring tiles of PLACES neighbouring places of all channels of x
// to a ring in shared memory: by a bulk copy a channel where places are neighbours in memory at
// multiples of 16 bytes, by copies of one or two elements a lane where they lie otherwise, and
// through registers where x is no tensor of floats. Every SIDES-th warp along the places multiplies
// WARP_M of them at once and stores the results, laid out in shared memory before so that lanes
// have neighbouring places. Warps past the last channel of y end at once.
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/bulk_copy.cuh"
#include "cupilot/mma.cuh"
#include "cupilot/ring.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/vector.cuh"
#include "cupilot/planes.cuh"

constexpr int WARPS_N = BLOCK_N / WARP_N, WARPS = WARPS_N * SIDES;
constexpr int THREADS = 32 * (WARPS + COPIERS);
constexpr int PARTS_M = WARP_M / 16, PARTS_N = WARP_N / 8, STEPS = CHANNELS / 8;
// Lanes of a load meet no bank twice: those of four channels lie eight words apart.
constexpr int PITCH = PLACES + 8, STAGE = CHANNELS * PITCH;
constexpr int TURN = WARP_N % 16 == 0 ? 16 : 8, LAID = WARP_M + 4;
constexpr int SPANS = (WARP_M + 31) / 32;

template <class... Any>
using Void = void;
template <class T>
constexpr bool is_float_pointer = false;
template <>
constexpr bool is_float_pointer<const float*> = true;
// True where the left factor is an element of a tensor of floats.
template <class Left, class = void>
constexpr bool is_direct = false;
template <class Left>
constexpr bool is_direct<Left, Void<decltype(Left::from)>> = is_float_pointer<decltype(Left::from)>;

// Lets the barrier's phase wait for the copies that this thread has ordered by cp.async as well; an
// arrival that the phase expects must follow in this warp.
__device__ __forceinline__ void arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

struct Stages {
  float* memory;
  unsigned full, empty;  // barriers
};

// True where the places of an image lie side by side, row after row.
template <class G>
__device__ __forceinline__ bool joins_rows(const G& graph, const typename G::Batch& batch,
                                           int count) {
  if constexpr (is_direct<typename G::Left>)
    return graph.left_place(batch, count - 1).from - graph.left_place(batch, 0).from == count - 1 &&
           graph.left_place(batch, 1 % count).from - graph.left_place(batch, 0).from == 1 % count;
  return true;
}

// A block's work: its batch and channels, and tiles that lie `apart`. Tiles are parts of lines:
// of images, or of their rows.
struct Work {
  Graph::Batch batch;
  int channel;  // the first
  int rows, columns, line;
  int tile, across, tiles, apart;

  __device__ __forceinline__ explicit Work(const Graph& graph) {
    const int batches = graph.batches(), over = (graph.n_count() + BLOCK_N - 1) / BLOCK_N;
    const int block = static_cast<int>(blockIdx.x), own = over * batches, number = block % own;
    batch = graph.batch_place(number % batches);
    channel = number / batches * BLOCK_N;
    rows = graph.window_rows();
    columns = graph.window_columns();
    line = joins_rows(graph, batch, rows * columns) ? rows * columns : columns;
    across = (line + PLACES - 1) / PLACES;
    tiles = graph.window_outer() * (rows * columns / line) * across;
    tile = block / own;
    apart = static_cast<int>(gridDim.x) / own;
  }
};

// A tile: its line's first place, its own place in the line, and how many it has.
struct Tile {
  int base, first, valid;

  __device__ __forceinline__ Tile(const Work& work, int number)
      : base(number / work.across * work.line),
        first(number % work.across * PLACES),
        valid(min(PLACES, work.line - first)) {}
};

// Orders a bulk copy of each channel, of `valid` places: the first one's first element lies at
// `from`, channels lie `far` apart.
__device__ __forceinline__ void copy_lines(const float* from, int far, int channels, int valid,
                                           unsigned to, unsigned full, int copier,
                                           unsigned long long policy) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int own = 0;
  for (int channel = copier * 32; channel < channels; channel += COPIERS * 32)
    own += min(32, channels - channel);
  if (lane == 0) arrive_expecting(full, own * valid * 4);
  __syncwarp();
#pragma unroll 1
  for (int channel = copier * 32 + lane; channel < channels; channel += COPIERS * 32)
    copy_bulk<EVICT != 0>(to + channel * (PITCH * 4), from + static_cast<long long>(channel) * far,
                          valid * 4, full, policy);
}

// Orders the same by copies of WIDE elements: lanes lie side by side and go from channel to
// channel.
template <int WIDE>
__device__ __forceinline__ void copy_elements(const float* from, int far, int channels, int valid,
                                              unsigned to, int copier) {
  constexpr int LANES = PLACES / WIDE < 32 ? PLACES / WIDE : 32, APART = COPIERS * (32 / LANES);
  const int lane = static_cast<int>(threadIdx.x) % 32, place = lane % LANES * WIDE;
  const int first = copier * (32 / LANES) + lane / LANES;
  const long long step = static_cast<long long>(far) * APART;
  from += static_cast<long long>(far) * first + place;
  to += first * (PITCH * 4) + place * 4;
#pragma unroll 2
  for (int channel = first; channel < channels; channel += APART) {
#pragma unroll
    for (int i = 0; i < PLACES; i += LANES * WIDE) {
      if (i + place < valid) copy_async<4 * WIDE, false>(to + i * 4, from + i);
    }
    from += step;
    to += APART * (PITCH * 4);
  }
}

// Orders copies of single elements of places that lie anywhere, also outside of x.
template <class G>
__device__ __forceinline__ void copy_places(const G& graph, const Work& work, const Tile& tile,
                                            int far, float* to, int copier) {
  constexpr int EACH = PLACES < 128 ? PLACES / 32 : 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const typename G::Term term = graph.term_place(work.batch, 0);
  const long long step = static_cast<long long>(far) * COPIERS;
#pragma unroll 1
  for (int group = 0; group < tile.valid; group += 32 * EACH) {
    const float* from[EACH];
    bool inside[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const int place = group + i * 32 + lane;
      const typename G::Left left = graph.left_place(work.batch, tile.base + tile.first + place);
      inside[i] = place < tile.valid && (term.taps & left.outside) == 0;
      from[i] = left.from + term.left + static_cast<long long>(far) * copier;
    }
    float* at = to + copier * PITCH + group + lane;
#pragma unroll 2
    for (int channel = copier; channel < work.batch.terms; channel += COPIERS) {
#pragma unroll
      for (int i = 0; i < EACH; ++i) {
        if (inside[i]) {
          copy_async<4, false>(shared_address(at + i * 32), from[i]);
        } else {
          at[i * 32] = 0.0f;
        }
        from[i] += step;
      }
      at += COPIERS * PITCH;
    }
  }
}

// Orders copies of a tile of a tensor of floats, and its arrival; false: x is none.
template <class G>
__device__ __forceinline__ bool copy_tile(const G& graph, const Work& work, const Tile& tile,
                                          float* to, unsigned full, int copier,
                                          unsigned long long policy) {
  if constexpr (is_direct<typename G::Left>) {
    const typename G::Left begin = graph.left_place(work.batch, tile.base);
    const typename G::Left end = graph.left_place(work.batch, tile.base + work.line - 1);
    const typename G::Left second = graph.left_place(work.batch, tile.base + 1 % work.line);
    const typename G::Term term = graph.term_place(work.batch, 0);
    const typename G::Term next = graph.term_place(work.batch, work.batch.terms > 1 ? 1 : 0);
    const float* const from = begin.from + term.left + tile.first;
    const int far = next.left - term.left, channels = work.batch.terms;
    const bool neighbours = end.from - begin.from == work.line - 1 &&
                            second.from - begin.from == 1 % work.line &&
                            (term.taps & (begin.outside | end.outside)) == 0;
    const int even = work.line | far | static_cast<int>(reinterpret_cast<long long>(from) / 4);
    if (neighbours && even % 4 == 0) {
      copy_lines(from, far, channels, tile.valid, shared_address(to), full, copier, policy);
      return true;
    }
    if (neighbours && even % 2 == 0) {
      copy_elements<2>(from, far, channels, tile.valid, shared_address(to), copier);
    } else if (neighbours) {
      copy_elements<1>(from, far, channels, tile.valid, shared_address(to), copier);
    } else {
      copy_places(graph, work, tile, far, to, copier);
    }
    arrive_after_copies(full);
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(full);
    return true;
  }
  return false;
}

// Fills a tile through registers, four channels of a place at once.
__device__ __forceinline__ void fill_tile(const Graph& graph, const Work& work, const Tile& tile,
                                          float* to, int copier) {
  constexpr int BATCH = 4;
  const int image = work.rows * work.columns, lane = static_cast<int>(threadIdx.x) % 32;
  const Graph::Slice slice = graph.window_slice(work.batch, tile.base / image, 0);
  const int quads = (work.batch.terms + 3) / 4;
#pragma unroll 1
  for (int place = lane; place < tile.valid; place += 32) {
    const int at = tile.base % image + tile.first + place;
    const int row = graph.window_row(work.batch, at / work.columns, 0);
    const int column = graph.window_column(work.batch, at % work.columns, 0);
#pragma unroll 1
    for (int first = copier; first < quads; first += BATCH * COPIERS) {
      float values[BATCH][4];
#pragma unroll
      for (int i = 0; i < BATCH; ++i)
        graph.window_values(work.batch, slice, (first + i * COPIERS) * 4, row, column, values[i]);
#pragma unroll
      for (int i = 0; i < 4 * BATCH; ++i) {
        const int quad = first + i / 4 * COPIERS;
        if (quad < quads) to[(quad * 4 + i % 4) * PITCH + place] = values[i / 4][i % 4];
      }
    }
  }
}

__device__ __forceinline__ void bring(const Graph& graph, const Work& work, const Stages& stages,
                                      int copier) {
  const unsigned long long policy = EVICT != 0 ? evict_first_policy() : 0;
  Ring<STAGES> ring;
#pragma unroll 1
  for (int number = work.tile; number < work.tiles; number += work.apart, ring.advance()) {
    const Tile tile(work, number);
    const unsigned full = stages.full + ring.stage * 8;
    wait_barrier(stages.empty + ring.stage * 8, ring.parity ^ 1);
    float* const stage = stages.memory + ring.stage * STAGE;
    if (copy_tile(graph, work, tile, stage, full, copier, policy)) continue;
    fill_tile(graph, work, tile, stage, copier);
    fence_for_copies();
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(full);
  }
}

// Weights of WARP_N channels as the tensor core takes them: lane (g, t) has channel g of each eight
// and terms t and t + 4 of each step.
struct Weights {
  unsigned at[PLANES][STEPS][PARTS_N][2];

  __device__ __forceinline__ Weights(const Graph& graph, const Work& work, int channel) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int part = 0; part < PARTS_N; ++part) {
      const Graph::Right right = graph.right_place(work.batch, channel + part * 8 + lane / 4);
#pragma unroll
      for (int i = 0; i < 2 * STEPS; ++i) {
        float value = graph.right_factor(right, graph.term_place(work.batch, i * 4 + lane % 4));
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane)
          at[plane][i / 2][part][i % 2] = plane_of(value);
      }
    }
  }
};

// A warp's sums of WARP_M places by WARP_N channels. Of each 32 places that are laid out lane
// (g, t) multiplies 4g to 4g + 3, as rows g and g + 8 of two parts; else rows are places.
struct Sums {
  float at[PARTS_M][PARTS_N][4];

  __device__ __forceinline__ Sums() {
#pragma unroll
    for (int i = 0; i < PARTS_M; ++i) {
#pragma unroll
      for (int j = 0; j < PARTS_N; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) at[i][j][e] = 0.0f;
      }
    }
  }
  // Elements of one step: of each part rows g and g + 8 of term t, then of term t + 4.
  static __device__ __forceinline__ void load(const float* from, float (&to)[PARTS_M][4]) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const row = from + (half * 4 + lane % 4) * PITCH;
#pragma unroll
      for (int i = 0; i < PARTS_M; ++i) {
        if constexpr (LAY != 0) {
          if (i % 2 != 0) continue;
          const auto four = load_vector<float, 4>(row + i * 16 + g * 4);
#pragma unroll
          for (int e = 0; e < 4; ++e) to[i + e / 2][half * 2 + e % 2] = four.at[e];
        } else {
          to[i][half * 2] = row[i * 16 + g];
          to[i][half * 2 + 1] = row[i * 16 + g + 8];
        }
      }
    }
  }
  // Adds the products of `terms`; elements of the next step are under way.
  __device__ __forceinline__ void add(const float* from, const Weights& weights, int terms) {
    float values[2][PARTS_M][4];
    load(from, values[0]);
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      if (step > 0 && step * 8 >= terms) break;
      if (step + 1 < STEPS) load(from + (step + 1) * 8 * PITCH, values[(step + 1) % 2]);
      unsigned left[PLANES][PARTS_M][4];
#pragma unroll
      for (int plane = 0; plane < PLANES; ++plane) {
#pragma unroll
        for (int i = 0; i < 4 * PARTS_M; ++i)
          left[plane][i / 4][i % 4] = plane_of(values[step % 2][i / 4][i % 4]);
      }
#pragma unroll
      for (int product = PLANES > 1 ? 0 : 2; product < 3; ++product) {
        const int of_a = product == 0, of_b = product == 1;
#pragma unroll
        for (int i = 0; i < PARTS_M; ++i) {
#pragma unroll
          for (int j = 0; j < PARTS_N; ++j)
            multiply_add<float>(at[i][j], left[of_a][i], weights.at[of_b][step][j]);
        }
      }
    }
  }
  // Stores results of `valid` places, the first of which has this number.
  template <bool WHOLE>
  __device__ __forceinline__ void store(const Graph& graph, const Work& work, int number, int valid,
                                        int channel) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2 * PARTS_M; ++i) {
      const int place = i * 8 + lane / 4;
      if (!WHOLE && place >= valid) continue;
      const Graph::Left left = graph.left_place(work.batch, number + place);
#pragma unroll
      for (int j = 0; j < 2 * PARTS_N; ++j) {
        const Graph::Right right =
            graph.right_place(work.batch, channel + j / 2 * 8 + lane % 4 * 2 + j % 2);
        if (WHOLE || right.present) graph.store(left, right, at[i / 2][j / 2][i % 2 * 2 + j % 2]);
      }
    }
  }
  // Lays out results of TURN channels.
  __device__ __forceinline__ void lay(float* to, int first) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int j = 0; j < TURN / 4; ++j) {
      const int part = first / 8 + j / 2, e = j % 2;
#pragma unroll
      for (int i = 0; i + 1 < PARTS_M; i += 2) {
        Vector<float, 4> four;
#pragma unroll
        for (int f = 0; f < 4; ++f) four.at[f] = at[i + f / 2][part][f % 2 * 2 + e];
        store_vector<float, 4>(to + (j / 2 * 8 + lane % 4 * 2 + e) * LAID + i * 16 + lane / 4 * 4,
                               four);
      }
    }
  }
  // Stores results of TURN channels that were laid out, each of which exists and has WARP_M places.
  static __device__ __forceinline__ void store_lines(const Graph& graph, const Work& work,
                                                     const Graph::Left (&left)[SPANS],
                                                     const float* own, int channel) {
#pragma unroll
    for (int j = 0; j < TURN; ++j) {
      const Graph::Right right = graph.right_place(work.batch, channel + j);
#pragma unroll
      for (int i = 0; i < SPANS; ++i) graph.store(left[i], right, own[j * LAID + i * 32]);
    }
  }
  // Stores results by way of shared memory, where lanes have neighbouring places. Of the channels
  // from this one on `there` exist.
  template <bool WHOLE>
  __device__ __forceinline__ void store_laid(const Graph& graph, const Work& work, float* laid,
                                             int number, int valid, int channel, int there) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const float* const own = laid + lane;
    Graph::Left left[SPANS];
#pragma unroll
    for (int i = 0; i < SPANS; ++i) left[i] = graph.left_place(work.batch, number + i * 32 + lane);
#pragma unroll
    for (int first = 0; first < WARP_N; first += TURN) {
      if (!WHOLE && first >= there) break;
      lay(laid, first);
      __syncwarp();
      if (WHOLE || (valid >= WARP_M && first + TURN <= there)) {
        store_lines(graph, work, left, own, channel + first);
      } else {
#pragma unroll 4
        for (int j = 0; j < min(TURN, there - first); ++j) {
          const Graph::Right right = graph.right_place(work.batch, channel + first + j);
#pragma unroll
          for (int i = 0; i < SPANS; ++i) {
            if (i * 32 + lane < valid) graph.store(left[i], right, own[j * LAID + i * 32]);
          }
        }
      }
      __syncwarp();
    }
  }
};

__device__ __forceinline__ void consume(const Graph& graph, const Work& work, const Stages& stages,
                                        float* laid) {
  constexpr int APART = SIDES * WARP_M;
  const int warp = static_cast<int>(threadIdx.x) / 32, side = warp / WARPS_N;
  const int channel = work.channel + warp % WARPS_N * WARP_N, there = graph.n_count() - channel;
  if (there <= 0) return;
  const Weights weights(graph, work, channel);
  Ring<STAGES> ring;
#pragma unroll 1
  for (int number = work.tile; number < work.tiles; number += work.apart, ring.advance()) {
    const Tile tile(work, number);
    const float* const stage = stages.memory + ring.stage * STAGE;
    // Each side releases the stage after its last places, at least its first ones.
    const int end = APART == PLACES ? PLACES : max(tile.valid, side * WARP_M + 1);
    wait_barrier(stages.full + ring.stage * 8, ring.parity);
    int place = side * WARP_M;
#pragma unroll 1
    do {
      Sums sums;
      sums.add(stage + place, weights, work.batch.terms);
      if (place + APART >= end) {
        fence_for_copies();
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(stages.empty + ring.stage * 8);
      }
      const int own = tile.base + tile.first + place, rest = tile.valid - place;
      const bool whole = rest >= WARP_M && there >= WARP_N;
      if constexpr (LAY != 0) {
        if (whole) {
          sums.store_laid<true>(graph, work, laid, own, rest, channel, there);
        } else {
          sums.store_laid<false>(graph, work, laid, own, rest, channel, there);
        }
      } else if (whole) {
        sums.store<true>(graph, work, own, rest, channel);
      } else {
        sums.store<false>(graph, work, own, rest, channel);
      }
      place += APART;
    } while (place < end);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) window_stream(GRAPH_PARAMETERS) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barrier barriers[2 * STAGES];
  const Graph graph{GRAPH_ARGUMENTS};
  const unsigned at = shared_address(barriers);
  const Stages stages = {reinterpret_cast<float*>(memory), at, at + 8 * STAGES};
  const int thread = static_cast<int>(threadIdx.x);
  const Work work(graph);
  if (thread == 0) {
    const int there = (graph.n_count() - work.channel + WARP_N - 1) / WARP_N;
#pragma unroll
    for (int i = 0; i < STAGES; ++i) {
      init_barrier(stages.full + i * 8, COPIERS);
      init_barrier(stages.empty + i * 8, min(WARPS_N, there) * SIDES);
    }
    publish_barriers();
  }
  // Elements that no copy reaches are multiplied too.
  if (work.batch.terms < CHANNELS || work.line % PLACES != 0) {
#pragma unroll 1
    for (int i = thread; i < STAGES * STAGE; i += THREADS) stages.memory[i] = 0.0f;
    fence_for_copies();
  }
  __syncthreads();
  const int warp = thread / 32;
  if (warp < WARPS) {
    consume(graph, work, stages, stages.memory + STAGES * STAGE + warp * (TURN * LAID));
  } else {
    bring(graph, work, stages, warp - WARPS);
  }
}
