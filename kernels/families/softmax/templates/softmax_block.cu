/* cupilot tunable 1
{
  "name": "softmax_block",
  "family": "softmax",
  "summary": "softmax by a block a row: the row's start in registers, then in shared memory, the rest read twice",
  "provides": ["block_rows", "register_rows", "online_reduction"],
  "requires": ["block_rows"],
  "when": ["elem.x == elem.y", "elem.x == 2 || elem.x == 4", "LOG == 0 || LOG == 1"],
  "parameters": {
    "THREADS": {"name": "block_threads", "technique": "block_rows", "domain": [64, 128, 256, 512, 1024], "plain": 256},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 3, 4, 6, 8, 12, 16], "plain": 1},
    "SLOTS": {"name": "slots", "technique": "shared_rows", "domain": [0, 1, 2, 3, 4, 6, 8, 12], "plain": 0},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ONE_EXCHANGE": {"name": "warp_maximum", "technique": "warp_maximum", "domain": [0, 1], "plain": 0},
    "REVERSE": {"name": "reversed_reread", "technique": "reversed_reread", "domain": [0, 1], "plain": 0},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4, 6, 8], "plain": 1},
    "BLOCKS_PER_SM": {"name": "blocks_per_sm", "technique": "grid_stride", "domain": [0, 1, 2, 4, 8, 16], "plain": 0},
    "FAST_EXP": {"name": "fast_exponential", "technique": "fast_exponential", "domain": [0, 1], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "restrict": [
    "VECTOR * elem.x <= 16",
    "!LOAD_HINT || VECTOR * elem.x >= 4",
    "SLOTS == 0 || VECTOR * elem.x == 16",
    "ITEMS * VECTOR <= 96",
    "MIN_BLOCKS * THREADS <= 2048",
    "(SLOTS * THREADS * 16 + 1536) * MIN_BLOCKS <= dev.shared",
    "(ITEMS * VECTOR + 32) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "registers": "min(ITEMS * VECTOR * 9 / 8 + 36, 65536 / (THREADS * MIN_BLOCKS))",
  "plan": {
    "launches": [
      {"name": "main", "entry": "softmax_block", "grid": ["BLOCKS_PER_SM > 0 ? min(rows, dev.sms * BLOCKS_PER_SM) : rows"],
       "block": ["THREADS"], "shared": "SLOTS * THREADS * 16", "args": ["x", "y", {"i64": "rows"}, {"i32": "cols"}]}
    ]
  },
  "model": {
    "let": {
      "cut": "cols % VECTOR != 0",
      "chunks": "cdiv(cols, VECTOR)",
      "kept": "min(chunks, (ITEMS + SLOTS) * THREADS)",
      "again": "(chunks - kept) * VECTOR * elem.x",
      "per_element": "(FAST_EXP ? weight.fast_exp : weight.exp) + (elem.x == 2 ? weight.narrow : 0)",
      "met": "ITEMS + min(SLOTS, cdiv(max(chunks - ITEMS * THREADS, 0), THREADS)) + 2 * ITEMS * cdiv(chunks - kept, ITEMS * THREADS)",
      "instructions": "met * (VECTOR * per_element + weight.load + cut * weight.cut * VECTOR) + weight.exchange * (2 - ONE_EXCHANGE)"
    },
    "blocks": "rows",
    "threads": "THREADS",
    "registers": "min(ITEMS * VECTOR * weight.element_registers / 1000 + weight.registers, 65536 / (THREADS * MIN_BLOCKS))",
    "shared_bytes": "SLOTS * THREADS * 16 + 512",
    "issue": "256 * (THREADS / 32) * instructions / 4",
    "math": "256 * (THREADS / 32) * met * VECTOR * 2",
    "fill": "256 * (cols * elem.x + again) / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + weight.exchange_wait * (2 - ONE_EXCHANGE) + weight.walk_wait * cdiv(chunks - kept, ITEMS * THREADS))",
    "start": "256 * weight.start",
    "l2": "rows * (cols * (elem.x + elem.y) + again)",
    "dram": "rows * (cols * (elem.x + elem.y) + (model.resident * dev.sms * cols * elem.x > dev.l2 * weight.l2_percent / 100 ? again : 0))",
    "traits": {"width": "256 * VECTOR * elem.x", "idle": "256 * (ITEMS + SLOTS) * THREADS * VECTOR / cols", "again": "256 + 256 * again / (cols * elem.x)"}
  }
}
*/
// A block takes a row. Each thread keeps its first ITEMS chunks in registers and the next SLOTS in
// shared memory, which no other thread looks at; what is left of a long row is read once for the
// maximum and the sum, and once more for the results.
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/softmax_row.cuh"
#include "cupilot/softmax_held.cuh"

constexpr int WARPS = THREADS / 32;
constexpr int STAGED_FROM = ITEMS * THREADS;  // chunks before this one lie in registers
constexpr int REREAD_FROM = STAGED_FROM + SLOTS * THREADS;

// Shares of the block's warps meet in shared memory. One barrier a meeting is enough: a warp that
// fills one half again has passed the barrier of the other, which all reach after reading the
// first.
struct Meeting {
  Share (*halves)[WARPS];
  int half = 0;

  __device__ __forceinline__ Share meet(const Share& own) {
    if (threadIdx.x % 32 == 0) halves[half][threadIdx.x / 32] = own;
    __syncthreads();
    const Share all = join_shares<WARPS>(halves[half]);
    half ^= 1;
    return all;
  }
};

// This thread's chunks of a row in shared memory.
struct Staged {
  Chunk* slots;  // of this thread, THREADS apart
  int start;     // chunk in the first slot

  __device__ __forceinline__ int count(const Row& row) const {
    return max(0, min(SLOTS, (row.chunks() - start + THREADS - 1) / THREADS));
  }
  __device__ __forceinline__ void ask(const Row& row) const {
    if constexpr (SLOTS > 0) {
      const int used = count(row);
#pragma unroll 4
      for (int s = 0; s < used; ++s) {
        const int column = row.column(start + s * THREADS);
        if (row.whole(column)) {
          copy_async<16, false>(shared_address(slots + s * THREADS), row.x + column);
        } else {
          slots[s * THREADS] = load_cut(row, row.x + column, column);
        }
      }
      commit_copies();
    }
  }
  // Calls visit(chunk, its elements).
  template <class Visit>
  __device__ __forceinline__ void each(const Row& row, Visit visit) const {
    if constexpr (SLOTS > 0) {
      const int used = count(row);
#pragma unroll 2
      for (int s = 0; s < used; ++s)
        visit(start + s * THREADS, load_vector<unsigned, WORDS>(slots[s * THREADS].at));
    }
  }
};

// Maximum and sum of this thread's chunks from REREAD_FROM on, in one pass.
__device__ __forceinline__ Share read_rest(const Row& row) {
  Share rest = empty_share();
#pragma unroll 1
  for (int from = REREAD_FROM; from < row.chunks(); from += ITEMS * THREADS) {
    Held<ITEMS, THREADS> part;
    part.load(row, from + static_cast<int>(threadIdx.x));
    const float largest = fmaxf(rest.largest, part.largest());
    rest.sum *= exponential(rest.largest - base_of(largest));
    rest.sum += part.exponentials(base_of(largest));
    rest.largest = largest;
  }
  return rest;
}
// Reads them again and stores their results; REVERSE begins with what was read last, which is the
// likeliest to be in L2.
__device__ __forceinline__ void finish_rest(const Row& row, const Ending& ending) {
  const int parts = max(0, (row.chunks() - REREAD_FROM + ITEMS * THREADS - 1) / (ITEMS * THREADS));
#pragma unroll 1
  for (int p = 0; p < parts; ++p) {
    const int from = REREAD_FROM + (REVERSE != 0 ? parts - 1 - p : p) * (ITEMS * THREADS);
    Held<ITEMS, THREADS> part;
    part.load(row, from + static_cast<int>(threadIdx.x));
    part.finish(row, ending);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    softmax_block(const T_x* x, T_y* y, long long rows, int cols) {
  extern __shared__ __align__(16) unsigned char slots[];
  __shared__ Share halves[2][WARPS];
  Meeting meeting{halves};
  const int thread = static_cast<int>(threadIdx.x);
  const Staged staged{reinterpret_cast<Chunk*>(slots) + thread, STAGED_FROM + thread};
#pragma unroll 1
  for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
    const Row row(x, y, r, cols);
    staged.ask(row);
    const Share rest = read_rest(row);
    Held<ITEMS, THREADS> held;
    held.load(row, thread);
    if constexpr (SLOTS > 0) wait_copies<0>();

    Share own = empty_share();
    own.largest = fmaxf(held.largest(), rest.largest);
    staged.each(
        row, [&](int, const Chunk& chunk) { own.largest = fmaxf(own.largest, largest_in(chunk)); });
    own.largest = largest_of<32>(own.largest);
    // Each warp takes its own maximum off and is scaled later, or all meet for the row's first.
    if constexpr (ONE_EXCHANGE == 0) own.largest = meeting.meet(own).largest;
    const float base = base_of(own.largest);
    own.sum = held.exponentials(base) + rest.sum * exponential(rest.largest - base);
    staged.each(row, [&](int, const Chunk& chunk) { own.sum += exponentials_of(chunk, base); });
    own.sum = sum_of<32>(own.sum);
    const Ending ending(meeting.meet(own));

    held.store(row, ending, own.largest);
    staged.each(row, [&](int at, const Chunk& chunk) {
      finish_chunk(row, row.y + row.column(at), row.column(at), chunk, ending);
    });
    finish_rest(row, ending);
  }
}
