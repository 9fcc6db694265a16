/* cupilot tunable 2
{
  "name": "gemm_simt_ring",
  "family": "gemm",
  "anchor": "matmul",
  "summary": "fp32 GEMM for sm_90a: a producer turns and brings operands into a ring of stages, consumers only read them and multiply-add",
  "provides": ["streamed_simt_core", "warp_specialisation", "persistent", "transpose_on_load", "fragment_double_buffer"],
  "requires": ["streamed_simt_core"],
  "when": ["elem.A == 4 && elem.B == 4"],
  "parameters": {
    "BLOCK_M": {"name": "block_m", "technique": "block_tile", "domain": [32, 64, 128, 256], "plain": 128},
    "BLOCK_N": {"name": "block_n", "technique": "block_tile", "domain": [32, 64, 128, 256], "plain": 128},
    "BLOCK_K": {"name": "block_k", "technique": "k_slab", "domain": [8, 16, 32], "plain": 16},
    "THREAD_M": {"name": "thread_m", "technique": "streamed_simt_core", "domain": [4, 8, 16], "plain": 8},
    "THREAD_N": {"name": "thread_n", "technique": "streamed_simt_core", "domain": [4, 8, 16], "plain": 8},
    "LANES_M": {"name": "lanes_m", "technique": "lane_grid", "domain": [2, 4, 8, 16], "plain": 4},
    "STAGES": {"name": "stages", "technique": "multistage", "domain": [2, 3, 4, 5, 6, 8], "plain": 2},
    "CHUNK": {"name": "unroll_k", "technique": "unroll", "domain": [8, 16], "plain": 8},
    "STRIP": {"name": "serpentine", "technique": "serpentine", "domain": [1, 2], "plain": 1},
    "COLUMN_RUNS": {"name": "column_runs", "technique": "column_runs", "domain": [0, 1], "plain": 0},
    "GROUP_M": {"name": "group_m", "technique": "raster", "domain": [1, 2, 4, 8, 16, 32], "plain": 1}
  },
  "restrict": [
    "dev.cc == 90",
    "BLOCK_K % CHUNK == 0",
    "BLOCK_M % (LANES_M * THREAD_M) == 0",
    "BLOCK_N % (32 / LANES_M * THREAD_N) == 0",
    "BLOCK_M * BLOCK_N % (THREAD_M * THREAD_N * 128) == 0",
    "BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N) <= 256",
    "256 * THREAD_M * THREAD_N / (BLOCK_M * BLOCK_N) * (STAGES * (BLOCK_K * (BLOCK_M + BLOCK_N) * 4 + 16) + 1024) <= dev.shared + 1024",
    "THREAD_M * THREAD_N + 2 * (THREAD_M + THREAD_N) <= 200"
  ],
  "plan": {
    "require": ["!TRANS_A || m % 4 == 0", "TRANS_B || n % 4 == 0"],
    "let": {
      "consumers": "BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N) / 128",
      "tiles": "cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)"
    },
    "maps": [
      {"name": "map_a", "of": "A", "type": "f32", "dims": ["TRANS_A ? m : 4", "TRANS_A ? k : 1", "TRANS_A ? batch : 1"],
       "pitch": ["TRANS_A ? m * 4 : 16", "TRANS_A ? m * k * 4 : 16"], "box": ["TRANS_A ? BLOCK_M : 4", "TRANS_A ? BLOCK_K : 1", 1], "swizzle": 0},
      {"name": "map_b", "of": "B", "type": "f32", "dims": ["TRANS_B ? 4 : n", "TRANS_B ? 1 : k", "TRANS_B ? 1 : batch"],
       "pitch": ["TRANS_B ? 16 : n * 4", "TRANS_B ? 16 : n * k * 4"], "box": ["TRANS_B ? 4 : BLOCK_N", "TRANS_B ? 1 : BLOCK_K", 1], "swizzle": 0}
    ],
    "launches": [
      {"name": "main", "entry": "gemm_simt_ring", "grid": ["min(tiles * batch, dev.sms * 2 / consumers)"], "block": ["(consumers + 1) * 128"],
       "shared": "STAGES * (BLOCK_K * (BLOCK_M + BLOCK_N) * 4 + 16)",
       "args": ["map_a", "map_b", "A", "B", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}, {"i32": "batch"}, "C?", "bias?", "D", "alpha", "beta"]}
    ]
  },
  "model": {
    "let": {
      "walked": "1024",
      "workers": "BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N)",
      "lanes_n": "32 / LANES_M",
      "reads_a": "cdiv(THREAD_M, 4) * (lanes_n > 1 ? max(1, min(THREAD_M, 4) / 2) : min(THREAD_M, 4))",
      "reads_b": "cdiv(THREAD_N, 4) * (lanes_n <= 2 ? max(1, min(THREAD_N, 4) / 2) : min(THREAD_N, 4))",
      "loads": "cdiv(THREAD_M, 4) + cdiv(THREAD_N, 4)",
      "turns": "cdiv(((TRANS_A ? 0 : BLOCK_M) + (TRANS_B ? BLOCK_N : 0)) * BLOCK_K, 2048)",
      "dealt": "tiles * batch",
      "slab_bytes": "(BLOCK_M + BLOCK_N) * BLOCK_K * elem.A",
      "each_sm": "cdiv(dealt, dev.sms)",
      "parts_bytes": "0",
      "outputs": "m * n * batch * elem.D",
      "tiles_down": "cdiv(m, BLOCK_M)",
      "tiles_across": "cdiv(n, BLOCK_N)",
      "wave": "min(dev.sms * model.resident, tiles_down * tiles_across)",
      "band": "min(GROUP_M, tiles_down)",
      "all_across": "wave > band * tiles_across",
      "rows_asked": "all_across ? min(256 * tiles_down, 256 * wave / tiles_across) : 256 * min(band, wave)",
      "columns_asked": "all_across ? 256 * tiles_across : min(256 * tiles_across, max(256, 256 * wave / band))",
      "asked": "(rows_asked * BLOCK_M + columns_asked * BLOCK_N) * (tiles_down * tiles_across) / wave",
      "once": "(m + n) * k * elem.A * batch",
      "operands": "2 * once < dev.l2 ? once : max(once, asked * k * elem.A / 256 * batch)"
    },
    "blocks": "dealt",
    "threads": "workers + 128",
    "resident": "max(1, 256 / workers)",
    "rounds": "256 * max(1, cdiv(k, BLOCK_K) * walked / 1024)",
    "math": "2 * workers * BLOCK_K * THREAD_M * THREAD_N",
    "issue": "2 * workers * BLOCK_K * (THREAD_M * THREAD_N + loads)",
    "shared": "8 * workers * BLOCK_K * (reads_a + reads_b) + 8 * (BLOCK_M + BLOCK_N) * BLOCK_K",
    "fill": "256 * slab_bytes / weight.fill_bytes",
    "latency": "256 * weight.latency + 256 * slab_bytes / weight.fill_bytes",
    "ahead": "STAGES - 1",
    "pace": "turns * 256 * weight.latency",
    "ends": "each_sm * BLOCK_M * BLOCK_N * 256 / weight.store_rate",
    "start": "256 * weight.latency",
    "l2": "dealt * max(1, cdiv(k, BLOCK_K) * walked / 1024) * slab_bytes + outputs + parts_bytes",
    "dram": "operands + outputs + (2 * parts_bytes > dev.l2 ? parts_bytes : 0)",
    "traits": {
      "turns": "256 + 256 * turns"
    }
  }
}
*/
// Blocks stay on their SM and take one tile of D after another. A producer warpgroup feeds slabs of
// A and B into a ring of stages in shared memory; consumer threads multiply them into THREAD_M x
// THREAD_N sums each, which stay in registers. The plain pipe takes one instruction of a warp a
// clock, so consumers execute next to nothing but multiply-adds and the reads of their operands:
// whatever else they did would take the place of 32 multiply-adds.
//
// The life of a stage:  filled    by copies of the producer, which waits for `empty`; `full` counts
// them as they land
//                       drained   into registers by every consumer warp, once `full` says that all
//                       have landed released  by an arrival of each consumer warp at `empty`, after
//                       its last read
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/wgmma.cuh"
#include "cupilot/raster.cuh"
#include "cupilot/schedule.cuh"

constexpr int STORE_VECTOR = 4;
constexpr int STREAM_STORE = 1;
#include "cupilot/epilogue.cuh"

constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int CONSUMERS = BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N) / GROUP;
constexpr int THREADS = GROUP * (CONSUMERS + 1);
constexpr int BLOCKS =
    2 / CONSUMERS;  // an SM: two consuming warpgroups, which hide each other's waits
constexpr int LANES_N = 32 / LANES_M;
constexpr int WARPS_N = BLOCK_N / (LANES_N * THREAD_N);
// A thread starts with its share of an SM's 65536 registers; the producer needs few and gives the
// rest away. Together they must not want more than all threads started with, or they wait for ever.
constexpr int PRODUCER_REGISTERS = CONSUMERS == 2 ? 40 : 32;
constexpr int CONSUMER_REGISTERS = CONSUMERS == 2 ? 232 : 224;

// One operand. An `outer` is a row of A or a column of B; its slab holds a line of outers for each
// of K. Where neighbours along K are adjacent in memory (A as stored, B transposed) the slab is a
// transpose, which a tensor map cannot bring: the producer's threads make it.
template <int OUTER, int THREAD, int LANES, bool ALONG_K>
struct Operand {
  static constexpr bool TURNED = ALONG_K;
  static constexpr int BYTES = OUTER * BLOCK_K * 4;
  static constexpr int WIDTH = 4;  // outers in a read
  static constexpr int READS = THREAD / WIDTH;

  // The outer of a thread's i-th row or column, from the warp's first.
  static __device__ constexpr int outer(int i, int lane) {
    return (lane + i / WIDTH * LANES) * WIDTH + i % WIDTH;
  }

  // By all threads of the producer, a square of 4 outers by 4 of K at a time: each line of the
  // square comes in one load where `aligned`, and leaves turned in one store. 8 lanes side by side
  // along the outers write to all banks. What lies outside the matrix becomes zero.
  static __device__ __forceinline__ void turn(unsigned char* to, const float* from, int pitch,
                                              int outers, int depth, bool aligned) {
    constexpr int SQUARES = OUTER / 4 * (BLOCK_K / 4);
#pragma unroll 1
    for (int square = static_cast<int>(threadIdx.x) % GROUP; square < SQUARES; square += GROUP) {
      const int o = (square % 8 + square / (2 * BLOCK_K) * 8) * 4;
      const int k = square / 8 % (BLOCK_K / 4) * 4;
      Vector<float, 4> line[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* first = from + static_cast<long long>(o + i) * pitch + k;
        if (aligned && o + i < outers && k + 4 <= depth) {
          line[i] = load_vector<float, 4>(first);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j)
            line[i].at[j] = o + i < outers && k + j < depth ? first[j] : 0.0f;
        }
      }
      float* target = reinterpret_cast<float*>(to) + k * OUTER + o;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        store_vector<float, 4>(target + j * OUTER,
                               {line[0].at[j], line[1].at[j], line[2].at[j], line[3].at[j]});
      }
    }
  }

  // A consumer's: its operands of the present step and of the next, which are read meanwhile.
  float held[2][THREAD];
  int own;  // bytes from a line's start to the lane's first outer

  __device__ __forceinline__ void read(const unsigned char* slab, int k) {
    const float* line = reinterpret_cast<const float*>(slab + own) + k * OUTER;
#pragma unroll
    for (int r = 0; r < READS; ++r) {
      const Vector<float, WIDTH> piece = load_vector<float, WIDTH>(line + r * LANES * WIDTH);
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) held[k % 2][r * WIDTH + i] = piece.at[i];
    }
  }
};
using OperandA = Operand<BLOCK_M, THREAD_M, LANES_M, TRANS_A == 0>;
using OperandB = Operand<BLOCK_N, THREAD_N, LANES_N, TRANS_B != 0>;
constexpr int STAGE_BYTES = OperandA::BYTES + OperandB::BYTES;
constexpr bool ANY_TURNED = OperandA::TURNED || OperandB::TURNED;
constexpr int MAPPED_BYTES =
    (OperandA::TURNED ? 0 : OperandA::BYTES) + (OperandB::TURNED ? 0 : OperandB::BYTES);
constexpr int FILLERS =
    (ANY_TURNED ? GROUP : 0) + (MAPPED_BYTES > 0 ? 1 : 0);  // arrivals that fill a stage

// Shared memory: the stages, each a slab of A and one of B; two barriers a stage.
struct Memory {
  unsigned char* base;
  __device__ __forceinline__ unsigned char* a(int stage) const {
    return base + stage * STAGE_BYTES;
  }
  __device__ __forceinline__ unsigned char* b(int stage) const {
    return a(stage) + OperandA::BYTES;
  }
  __device__ __forceinline__ unsigned full(int stage) const {
    return shared_address(base + STAGES * STAGE_BYTES) + stage * 16;
  }
  __device__ __forceinline__ unsigned empty(int stage) const { return full(stage) + 8; }
};

struct Inputs {
  const TensorMap& map_a;
  const TensorMap& map_b;
  const float* a;
  const float* b;
  int m, n, k;
  int pitch_a;   // elements from line to line of A along K
  bool aligned;  // these lines start at multiples of 16 bytes
};

// One stage, by all threads of the producer: slab number `slab` of the operands of a tile.
__device__ __forceinline__ void fill(const Memory& memory, int stage, const Inputs& in,
                                     const Work& work, int slab) {
  const int row = work.tile.m * BLOCK_M;
  const int column = work.tile.n * BLOCK_N;
  const int k = slab * BLOCK_K;
  const unsigned to_a = shared_address(memory.a(stage));
  const unsigned to_b = shared_address(memory.b(stage));
  const unsigned full = memory.full(stage);
  if (MAPPED_BYTES > 0 && threadIdx.x % GROUP == 0) {
    arrive_expecting(full, MAPPED_BYTES);
    if (!OperandA::TURNED) load_tile(to_a, in.map_a, full, row, k, work.batch);
    if (!OperandB::TURNED) load_tile(to_b, in.map_b, full, column, k, work.batch);
  }
  if constexpr (OperandA::TURNED) {
    const float* first = in.a + (static_cast<long long>(work.batch) * in.m + row) * in.pitch_a + k;
    OperandA::turn(memory.a(stage), first, in.pitch_a, in.m - row, in.k - k, in.aligned);
  }
  if constexpr (OperandB::TURNED) {
    const float* first = in.b + (static_cast<long long>(work.batch) * in.n + column) * in.k + k;
    OperandB::turn(memory.b(stage), first, in.k, in.n - column, in.k - k, in.aligned);
  }
  if constexpr (ANY_TURNED) arrive(full);
}

// The producer. Fills stage after stage, for every tile of the block.
__device__ __forceinline__ void produce(const Memory& memory, const Inputs& in,
                                        const WorkList& list) {
  if (!ANY_TURNED && threadIdx.x % GROUP != 0) return;
  Ring<STAGES> ring;
#pragma unroll 1
  for (int item = static_cast<int>(blockIdx.x); item < list.count();
       item += static_cast<int>(gridDim.x)) {
    const Work work = list.at(item, GROUP_M);
#pragma unroll 1
    for (int slab = 0; slab < work.slabs; ++slab) {
      wait_barrier(memory.empty(ring.stage), ring.parity ^ 1);
      fill(memory, ring.stage, in, work, work.first_slab + slab);
      ring.advance();
    }
  }
}

// A consumer thread.
struct Consumer {
  Memory memory;
  OperandA a;
  OperandB b;
  int lane;
  int row, column;  // the thread's first, in the block's tile
  Ring<STAGES> ring;
  float sum[THREAD_M][THREAD_N];

  __device__ __forceinline__ explicit Consumer(const Memory& shared) : memory(shared) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    lane = static_cast<int>(threadIdx.x) % 32;
    row = warp / WARPS_N * LANES_M * THREAD_M + OperandA::outer(0, lane / LANES_N);
    column = warp % WARPS_N * LANES_N * THREAD_N + OperandB::outer(0, lane % LANES_N);
    a.own = row * 4;
    b.own = column * 4;
  }

  // The multiply-adds of step k, along rows of the thread's tile or down its columns, one forth and
  // the next back, STRIP side by side: what an instruction shares with the one before, the register
  // file need not deliver again. It has two operands a clock to give, not three.
  __device__ __forceinline__ void multiply(int k) {
    constexpr int RUN = COLUMN_RUNS != 0 ? THREAD_M : THREAD_N;
#pragma unroll
    for (int index = 0; index < THREAD_M * THREAD_N; ++index) {
      const int strip = index / (STRIP * RUN);
      const int step = index / STRIP % RUN;
      const int along = strip % 2 == 0 ? step : RUN - 1 - step;
      const int across =
          strip * STRIP + (step % 2 == 0 ? index % STRIP : STRIP - 1 - index % STRIP);
      const int i = COLUMN_RUNS != 0 ? along : across;
      const int j = COLUMN_RUNS != 0 ? across : along;
      sum[i][j] = fmaf(a.held[k % 2][i], b.held[k % 2][j], sum[i][j]);
    }
  }

  // Sums the products of `slabs` slabs, at least one.
  __device__ __forceinline__ void multiply_tile(int slabs) {
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
      for (int j = 0; j < THREAD_N; ++j) sum[i][j] = 0.0f;
    }
    wait_barrier(memory.full(ring.stage), ring.parity);
    a.read(memory.a(ring.stage), 0);
    b.read(memory.b(ring.stage), 0);
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      const Ring<STAGES> now = ring;
      ring.advance();
      // The last slab has none to read ahead from: its own first step is read once more, to no end
      // but without a branch.
      const Ring<STAGES> next = slab + 1 < slabs ? ring : now;
      multiply_slab(now, next);
      if constexpr (MAPPED_BYTES > 0) fence_for_copies();
      __syncwarp();
      if (lane == 0) arrive(memory.empty(now.stage));
    }
  }

  // In chunks, so that the loop stays in the instruction cache.
  __device__ __forceinline__ void multiply_slab(const Ring<STAGES>& now, const Ring<STAGES>& next) {
    const unsigned char* from_a = memory.a(now.stage);
    const unsigned char* from_b = memory.b(now.stage);
#pragma unroll 1
    for (int left = BLOCK_K; left > 0; left -= CHUNK) {
      const bool last = left == CHUNK;
      if (last) wait_barrier(memory.full(next.stage), next.parity);
      const unsigned char* after_a = last ? memory.a(next.stage) : from_a + CHUNK * BLOCK_M * 4;
      const unsigned char* after_b = last ? memory.b(next.stage) : from_b + CHUNK * BLOCK_N * 4;
#pragma unroll
      for (int k = 0; k < CHUNK; ++k) {
        a.read(k + 1 < CHUNK ? from_a : after_a, (k + 1) % CHUNK);
        b.read(k + 1 < CHUNK ? from_b : after_b, (k + 1) % CHUNK);
        multiply(k);
      }
      from_a = after_a;
      from_b = after_b;
    }
  }

  __device__ __forceinline__ void store(const Epilogue& epilogue, const Tile& tile) const {
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
      for (int j = 0; j < THREAD_N; j += 4) {
        epilogue.store(tile.m * BLOCK_M + row + OperandA::outer(i, 0),
                       tile.n * BLOCK_N + column + OperandB::outer(j, 0),
                       {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]});
      }
    }
  }
};

// Before anybody waits for them or copies to them.
__device__ __forceinline__ void prepare_barriers(const Memory& memory) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      init_barrier(memory.full(stage), FILLERS);
      init_barrier(memory.empty(stage), CONSUMERS * 4);
    }
    publish_barriers();
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_simt_ring(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                   const T_A* A, const T_B* B, int m, int n, int k, int batches, GRAPH_PARAMETERS) {
  extern __shared__ __align__(128) unsigned char shared[];
  const Memory memory{shared};
  const int slabs = (k + BLOCK_K - 1) / BLOCK_K;
  const WorkList list{(m + BLOCK_M - 1) / BLOCK_M,
                      (n + BLOCK_N - 1) / BLOCK_N,
                      slabs,
                      slabs,
                      1,
                      BATCHED != 0 ? batches : 1,
                      static_cast<int>(gridDim.x),
                      0,
                      {Graph::SPANS, BLOCK_M, BLOCK_N, BLOCK_K}};
  prepare_barriers(memory);

  const Graph graph{GRAPH_ARGUMENTS};
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / GROUP, 0);
  if (warpgroup == CONSUMERS) {
    take_registers<PRODUCER_REGISTERS, false>();
    const int pitch_a = graph.left_pitch(k);
    produce(memory,
            {map_a, map_b, A, B, m, n, k, pitch_a,
             rows_aligned(A, pitch_a, 4) && rows_aligned(B, k, 4)},
            list);
  } else {
    take_registers<CONSUMER_REGISTERS, true>();
    Consumer consumer(memory);
    const Epilogue first_matrix(graph, m, n);
#pragma unroll 1
    for (int item = static_cast<int>(blockIdx.x); item < list.count();
         item += static_cast<int>(gridDim.x)) {
      const Work work = list.at(item, GROUP_M);
      consumer.multiply_tile(work.slabs);
      consumer.store(first_matrix.of_batch(work.batch), work.tile);
    }
  }
}
