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
    "BLOCK_N": {"name": "tile_n", "technique": "window_stream", "domain": [8, 16, 32, 64, 128, 256], "plain": 128},
    "CHANNELS": {"name": "channels", "technique": "window_stream", "domain": [8, 16, 32, 64, 96, 128, 192, 256], "plain": 64},
    "WARP_M": {"name": "warp_m", "technique": "window_stream", "domain": [16, 32, 64], "plain": 32},
    "WARP_N": {"name": "warp_n", "technique": "window_stream", "domain": [8, 16, 32, 64], "plain": 32},
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
    "laid_bytes": "LAY * min(WARP_N, 16) * (WARP_M + 4) * 4",
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
      "pieces": "PLACES / WARP_M * (BLOCK_N / WARP_N)",
      "products": "WARP_M * WARP_N * CHANNELS / 1024 * (graph_planes == 2 ? 3 : 1)",
      "reads": "WARP_M * CHANNELS / 32",
      "near": "sums * (graph_operations * weight.operations / 100 + weight.result + LAY) + (LAY ? WARP_M / 32 : WARP_M / 8) * weight.row",
      "copied": "graph_down * graph_across % 4 == 0",
      "rate": "dev.ops.tf32 > 0 ? dev.ops.tf32 : weight.rate"
    },
    "blocks": "tiles * own",
    "threads": "threads",
    "registers": "min(held, dev.registers / (up(threads, 128) * MIN_BLOCKS))",
    "shared_bytes": "shared_all + 2048",
    "math": "256 * pieces * products * 2048 * weight.gaps / (rate * 100)",
    "issue": "256 * (pieces * (products + reads * (LAY ? weight.laid_read : weight.read) / 100 * graph_planes + near + weight.piece) + (copied ? weight.channel_copy * CHANNELS / 32 : PLACES * CHANNELS * weight.element_copy / 32)) / 4",
    "shared": "256 * (PLACES * CHANNELS / 32 + pieces * (reads + sums * (LAY ? 3 : 4)))",
    "fill": "256 * PLACES * CHANNELS * 4 / weight.fill_bytes",
    "chain": "256 * (weight.wait + PLACES / (WARP_M * SIDES) * (max(products * weight.product_wait, CHANNELS / 8 * weight.step_wait) + near + weight.piece_wait))",
    "latency": "256 * weight.latency",
    "ahead": "STAGES - 1",
    "pace": "256 * (copied ? weight.copy_pace + cdiv(CHANNELS, 32 * COPIERS) * weight.channel_pace : PLACES * CHANNELS / (128 * COPIERS) * weight.element_pace)",
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
// to a ring in shared memory: by a bulk copy a channel where places are neighbours in memory, else
// element by element. Every SIDES-th warp along the places multiplies WARP_M of them at once and
// stores the results, laid out in shared memory before so that lanes have neighbouring places.
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
constexpr int TURN = WARP_N < 16 ? WARP_N : 16, LAID = WARP_M + 4;

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

// Orders copies of a tile where its places are neighbours in memory; false: they are not.
template <class G>
__device__ __forceinline__ bool copy_tile(const G& graph, const Work& work, const Tile& tile,
                                          unsigned to, unsigned full, int copier,
                                          unsigned long long policy) {
  if constexpr (is_direct<typename G::Left>) {
    const typename G::Left begin = graph.left_place(work.batch, tile.base);
    const typename G::Left end = graph.left_place(work.batch, tile.base + work.line - 1);
    const typename G::Left second = graph.left_place(work.batch, tile.base + 1 % work.line);
    const typename G::Term term = graph.term_place(work.batch, 0);
    const typename G::Term next = graph.term_place(work.batch, work.batch.terms > 1 ? 1 : 0);
    if (work.line % 4 != 0 || end.from - begin.from != work.line - 1 ||
        second.from - begin.from != 1 % work.line ||
        (term.taps & (begin.outside | end.outside)) != 0 || (next.left - term.left) % 4 != 0 ||
        reinterpret_cast<unsigned long long>(begin.from) % 16 != 0)
      return false;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int channels = 0;
    for (int channel = copier * 32; channel < work.batch.terms; channel += COPIERS * 32)
      channels += min(32, work.batch.terms - channel);
    if (lane == 0) arrive_expecting(full, channels * tile.valid * 4);
    __syncwarp();
#pragma unroll 1
    for (int channel = copier * 32 + lane; channel < work.batch.terms; channel += COPIERS * 32)
      copy_bulk<EVICT != 0>(to + channel * (PITCH * 4),
                            begin.from + graph.term_place(work.batch, channel).left + tile.first,
                            tile.valid * 4, full, policy);
    return true;
  }
  return false;
}

// Fills a tile element by element.
__device__ __forceinline__ void fill_tile(const Graph& graph, const Work& work, const Tile& tile,
                                          float* to, int copier) {
  const int image = work.rows * work.columns, lane = static_cast<int>(threadIdx.x) % 32;
  const Graph::Slice slice = graph.window_slice(work.batch, tile.base / image, 0);
  const int quads = (work.batch.terms + 3) / 4;
#pragma unroll 1
  for (int item = copier * 32 + lane; item < quads * PLACES; item += COPIERS * 32) {
    const int place = item % PLACES, quad = item / PLACES;
    const int at = tile.base % image + tile.first + place;
    if (place >= tile.valid) continue;
    float values[4];
    graph.window_values(work.batch, slice, quad * 4,
                        graph.window_row(work.batch, at / work.columns, 0),
                        graph.window_column(work.batch, at % work.columns, 0), values);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[(quad * 4 + i) * PITCH + place] = values[i];
  }
}

__device__ __forceinline__ void bring(const Graph& graph, const Work& work, const Stages& stages,
                                      int copier) {
  const unsigned long long policy = EVICT != 0 ? evict_first_policy() : 0;
  const unsigned memory = shared_address(stages.memory);
  Ring<STAGES> ring;
#pragma unroll 1
  for (int number = work.tile; number < work.tiles; number += work.apart, ring.advance()) {
    const Tile tile(work, number);
    const unsigned full = stages.full + ring.stage * 8;
    wait_barrier(stages.empty + ring.stage * 8, ring.parity ^ 1);
    if (copy_tile(graph, work, tile, memory + ring.stage * (STAGE * 4), full, copier, policy))
      continue;
    fill_tile(graph, work, tile, stages.memory + ring.stage * STAGE, copier);
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
  // Stores results by way of shared memory, where lanes have neighbouring places.
  __device__ __forceinline__ void store_laid(const Graph& graph, const Work& work, float* laid,
                                             int number, int valid, int channel, bool whole) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const float* const own = laid + lane;
    Graph::Left left[(WARP_M + 31) / 32];
#pragma unroll
    for (int i = 0; i < WARP_M / 32; ++i)
      left[i] = graph.left_place(work.batch, number + i * 32 + lane);
#pragma unroll
    for (int first = 0; first < WARP_N; first += TURN) {
      lay(laid, first);
      __syncwarp();
      if (whole) {
#pragma unroll
        for (int j = 0; j < TURN; ++j) {
          const Graph::Right right = graph.right_place(work.batch, channel + first + j);
#pragma unroll
          for (int i = 0; i < WARP_M / 32; ++i) graph.store(left[i], right, own[j * LAID + i * 32]);
        }
      } else {
#pragma unroll 1
        for (int j = 0; j < TURN; ++j) {
          const Graph::Right right = graph.right_place(work.batch, channel + first + j);
#pragma unroll
          for (int i = 0; i < WARP_M / 32; ++i) {
            if (right.present && i * 32 + lane < valid)
              graph.store(left[i], right, own[j * LAID + i * 32]);
          }
        }
      }
      __syncwarp();
    }
  }
};

__device__ __forceinline__ void consume(const Graph& graph, const Work& work, const Stages& stages,
                                        float* laid) {
  const int warp = static_cast<int>(threadIdx.x) / 32, side = warp / WARPS_N;
  const int channel = work.channel + warp % WARPS_N * WARP_N;
  const Weights weights(graph, work, channel);
  Ring<STAGES> ring;
#pragma unroll 1
  for (int number = work.tile; number < work.tiles; number += work.apart, ring.advance()) {
    const Tile tile(work, number);
    const float* const stage = stages.memory + ring.stage * STAGE;
    wait_barrier(stages.full + ring.stage * 8, ring.parity);
#pragma unroll 1
    for (int place = side * WARP_M; place < PLACES; place += SIDES * WARP_M) {
      Sums sums;
      sums.add(stage + place, weights, work.batch.terms);
      if (place + SIDES * WARP_M >= PLACES) {
        fence_for_copies();
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(stages.empty + ring.stage * 8);
      }
      const int own = tile.base + tile.first + place, rest = tile.valid - place;
      const bool whole = rest >= WARP_M && channel + WARP_N <= graph.n_count();
      if constexpr (LAY != 0) {
        sums.store_laid(graph, work, laid, own, rest, channel, whole);
      } else if (whole) {
        sums.template store<true>(graph, work, own, rest, channel);
      } else {
        sums.template store<false>(graph, work, own, rest, channel);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) window_stream(GRAPH_PARAMETERS) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barrier barriers[2 * STAGES];
  const Graph graph{GRAPH_ARGUMENTS};
  const unsigned at = shared_address(barriers);
  const Stages stages = {reinterpret_cast<float*>(memory), at, at + 8 * STAGES};
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
#pragma unroll
    for (int i = 0; i < STAGES; ++i) {
      init_barrier(stages.full + i * 8, COPIERS);
      init_barrier(stages.empty + i * 8, WARPS);
    }
    publish_barriers();
  }
  const Work work(graph);
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
