/* cupilot tunable 1
{
  "name": "softmax_cluster",
  "family": "softmax",
  "summary": "softmax by a cluster a row (Hopper): slices in registers, later rows on their way, one exchange of shares",
  "provides": ["cluster_rows", "register_rows", "warp_maximum"],
  "requires": ["cluster_rows"],
  "when": ["elem.x == elem.y", "elem.x == 2 || elem.x == 4", "LOG == 0 || LOG == 1"],
  "parameters": {
    "CLUSTER": {"name": "cluster", "technique": "cluster_rows", "domain": [1, 2, 4, 8], "plain": 8},
    "THREADS": {"name": "slice_threads", "technique": "cluster_rows", "domain": [128, 256, 512, 1024], "plain": 512},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 3, 4, 6, 8, 12, 16], "plain": 8},
    "STAGES": {"name": "stages", "technique": "bulk_rows", "domain": [0, 1, 2, 3, 4, 6], "plain": 0},
    "TURNS": {"name": "turns", "technique": "row_turns", "domain": [0, 1, 2, 4, 8, 16, 32, 64], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1},
    "FAST_EXP": {"name": "fast_exponential", "technique": "fast_exponential", "domain": [0, 1], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "restrict": [
    "dev.cc >= 90",
    "STAGES <= 1 || TURNS != 1",
    "ITEMS * (16 / elem.x) <= 96",
    "CLUSTER * ITEMS * (FAST_EXP ? 1 : 2) <= 128",
    "FAST_EXP || CLUSTER * THREADS <= 4096",
    "MIN_BLOCKS * THREADS <= 2048",
    "(ITEMS * (16 / elem.x) + 28) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "registers": "min(ITEMS * (16 / elem.x) * 9 / 8 + 36, 65536 / (THREADS * MIN_BLOCKS))",
  "plan": {
    "require": ["slice <= ITEMS * THREADS", "(shared + 1024 + CLUSTER * THREADS / 2) * MIN_BLOCKS <= dev.shared"],
    "let": {
      "chunk": "16 / elem.x",
      "slice": "cdiv(cdiv(cols, chunk) + (cols % chunk != 0), CLUSTER)",
      "shared": "STAGES * slice * 16",
      "clusters": "TURNS > 0 ? cdiv(rows, TURNS) : min(rows, max(resident.main / CLUSTER, 1))"
    },
    "launches": [
      {"name": "main", "entry": "softmax_cluster", "grid": ["clusters * CLUSTER"], "block": ["THREADS"], "cluster": ["CLUSTER"],
       "shared": "shared", "args": ["x", "y", {"i64": "rows"}, {"i32": "cols"}, {"i32": "slice"}]}
    ]
  },
  "model": {
    "let": {
      "cut": "cols % chunk != 0",
      "per_element": "(FAST_EXP ? weight.fast_exp : weight.exp) + (elem.x == 2 ? weight.narrow : 0)",
      "instructions": "ITEMS * (chunk * per_element + weight.load + cut * weight.cut * chunk) + weight.row + weight.inbox * cdiv(CLUSTER * THREADS, 1024)",
      "turns": "TURNS > 0 ? TURNS : cdiv(rows * CLUSTER, model.resident * dev.sms)"
    },
    "blocks": "cdiv(rows, turns) * CLUSTER",
    "threads": "THREADS",
    "registers": "min(ITEMS * chunk * weight.element_registers / 1000 + weight.registers, 65536 / (THREADS * MIN_BLOCKS))",
    "shared_bytes": "shared + 1024 + CLUSTER * THREADS / 2",
    "rounds": "256 * turns",
    "issue": "256 * (THREADS / 32) * instructions / 4",
    "math": "256 * (THREADS / 32) * ITEMS * chunk * 2",
    "shared": "STAGES > 0 ? 256 * slice / 4 : 0",
    "fill": "256 * slice * 16 / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "ahead": "STAGES",
    "chain": "256 * (weight.wait + (CLUSTER > 1 ? weight.cluster_wait : weight.exchange_wait))",
    "start": "256 * (weight.start + (CLUSTER > 1 ? weight.cluster_start : 0))",
    "l2": "rows * cols * (elem.x + elem.y)",
    "dram": "rows * cols * (elem.x + elem.y)",
    "traits": {"idle": "256 * ITEMS * THREADS / slice", "cluster": "256 * CLUSTER", "stages": "256 + 256 * STAGES"}
  }
}
*/
// A cluster takes a row, each of its blocks a slice of neighbouring chunks. While the slices of one
// row are in registers, those of the next STAGES rows are on their way into a ring of shared
// memory. Each warp takes its own maximum off and sends its share to all blocks of the cluster, so
// that one barrier a row is enough.
constexpr int VECTOR = 16 / static_cast<int>(sizeof(T_x));
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/bulk_copy.cuh"
#include "cupilot/ring.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/softmax_row.cuh"
#include "cupilot/softmax_held.cuh"

constexpr int WARPS = THREADS / 32;
constexpr int SHARES = CLUSTER * WARPS;

// Every thread of the cluster, or of the block where that is all of it.
__device__ __forceinline__ void meet() {
  if constexpr (CLUSTER > 1) {
    cluster_wait();
  } else {
    __syncthreads();
  }
}

// `there` as address_in() gives it. The receiver reads after a barrier of the cluster.
__device__ __forceinline__ void send_share(unsigned there, const Share& share) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(share.largest),
               "f"(share.sum)
               : "memory");
}

// Shares of all warps of the cluster, in the shared memory of each block. Two halves: a warp sends
// to one again after the barrier that follows the other, which all reach after reading the first.
struct Mailbox {
  Share (*halves)[SHARES];
  unsigned there;  // this warp's place in the block that this lane sends to
  int half = 0;

  __device__ __forceinline__ Mailbox(Share (*boxes)[SHARES], int rank) : halves(boxes) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int from = rank * WARPS + static_cast<int>(threadIdx.x) / 32;
    there = shared_address(&halves[0][from]);
    if constexpr (CLUSTER > 1) there = address_in(there, lane % CLUSTER);
  }
  __device__ __forceinline__ Share exchange(const Share& own) {
    if (static_cast<int>(threadIdx.x) % 32 < CLUSTER)
      send_share(there + half * static_cast<int>(sizeof(Share)) * SHARES, own);
    meet();
    const Share all = join_shares<SHARES>(halves[half]);
    half ^= 1;
    return all;
  }
};

// Stages of shared memory, each a slice, and their barriers.
struct SliceRing {
  unsigned base, full;  // the first stage, the first barrier
  const Chunk* chunks;  // the same first stage
  int from, slice;      // first chunk and number of chunks of this block
  Ring<STAGES> at;

  // One thread. Only whole chunks are copied; who holds a cut one reads it from global memory.
  __device__ __forceinline__ void ask(const Row& row, int to) const {
    const int first = max(from, row.before > 0 ? 1 : 0);
    const int last = min(from + slice, (row.before + row.cols) / VECTOR);
    const int size = row.aligned ? max(0, last - first) * CHUNK : 0;
    arrive_expecting(full + to * 8, size);
    if (size > 0)
      copy_bulk<LOAD_HINT != 0>(base + (to * slice + first - from) * CHUNK,
                                row.x + row.column(first), size, full + to * 8,
                                LOAD_HINT != 0 ? evict_first_policy() : 0);
  }
  // This thread's chunk i.
  __device__ __forceinline__ Chunk read(int i) const {
    const Chunk* mine = chunks + at.stage * slice + static_cast<int>(threadIdx.x);
    return load_vector<unsigned, WORDS>(mine[i * THREADS].at);
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    softmax_cluster(const T_x* x, T_y* y, long long rows, int cols, int slice) {
  extern __shared__ __align__(128) Chunk stages[];
  __shared__ Share boxes[2][SHARES];
  __shared__ Barrier barriers[STAGES > 0 ? STAGES : 1];
  const int rank = CLUSTER > 1 ? cluster_rank() : 0;
  const long long clusters = gridDim.x / CLUSTER;
  const long long mine = blockIdx.x / CLUSTER;
  const bool leads = threadIdx.x == 0;
  Mailbox mailbox(boxes, rank);
  SliceRing ring{shared_address(stages), shared_address(barriers), stages, rank * slice, slice};

  if constexpr (STAGES > 0) {
    if (leads) {
      for (int s = 0; s < STAGES; ++s) init_barrier(ring.full + s * 8, 1);
      publish_barriers();
      for (int s = 0; s < STAGES; ++s)
        if (mine + s * clusters < rows) ring.ask(Row(x, y, mine + s * clusters, cols), s);
    }
  }
  // Nobody sends to a block that has not begun, nor waits for a barrier that is not ready. Without
  // stages the first row's loads come before the wait.
  if constexpr (STAGES > 0) {
    meet();
  } else if constexpr (CLUSTER > 1) {
    cluster_begun();
  }

  const int start = ring.from + static_cast<int>(threadIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (long long r = mine; r < rows; r += clusters) {
    const Row row(x, y, r, cols);
    const int end = min(ring.from + slice, row.chunks());
    const bool holds = start - lane < end;  // a warp of nothing only takes part in the exchange
    if constexpr (STAGES > 0) wait_barrier(ring.full + ring.at.stage * 8, ring.at.parity);
    Held<ITEMS, THREADS> held;
    Share own = empty_share();
    if (holds) {
      if constexpr (STAGES > 0) {
        held.load(row, start, end, [&](int i) { return ring.read(i); });
        fence_for_copies();
      } else {
        const T_x* whole = row.x + row.column(start);
        held.load(row, start, end, [&](int i) { return load_whole(whole + i * held.STEP); });
      }
      own.largest = largest_of<32>(held.largest());
      own.sum = sum_of<32>(held.exponentials(base_of(own.largest)));
    }
    if constexpr (STAGES == 0 && CLUSTER > 1)
      if (r == mine) wait_for_cluster();
    const Ending ending(mailbox.exchange(own));
    if constexpr (STAGES > 0) {
      const long long next = r + STAGES * clusters;
      if (leads && next < rows) ring.ask(Row(x, y, next, cols), ring.at.stage);
      ring.at.advance();
    }
    if (holds) held.store(row, ending, own.largest);
  }
}
