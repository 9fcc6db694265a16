/* cupilot tunable 2
{
  "name": "rows_in_turns",
  "family": "axiswise",
  "anchor": "row_reduction",
  "summary": "long rows in turns by all blocks at once: a part each in registers and shared memory, read once, the next row on its way",
  "provides": ["turns_of_rows", "register_rows"],
  "requires": ["turns_of_rows"],
  "parameters": {
    "GROUPS": {"name": "groups", "technique": "turns_of_rows", "domain": [1, 2, 3, 4, 6, 11, 12, 22, 33], "plain": 1},
    "THREADS": {"name": "part_threads", "technique": "turns_of_rows", "domain": [128, 256, 512, 1024], "plain": 512},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 3, 4, 6, 8, 12, 16], "plain": 8},
    "SLOTS": {"name": "slots", "domain": [0, 2, 4, 6, 8, 12, 16, 24, 32, 48], "plain": 0},
    "AHEAD": {"name": "row_ahead", "domain": [0, 1], "plain": 0},
    "TOGETHER": {"name": "rows_together", "domain": [1, 2], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1},
    "FIRST_OUT": {"name": "evict_first_load", "domain": [0, 1], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "each": "VECTOR * max(graph_held, 1) * graph_widest",
    "kept_bytes": "TOGETHER * (SLOTS + AHEAD * ITEMS) * THREADS * each",
    "boxes": "2 * TOGETHER * THREADS / 8 * graph_state"
  },
  "restrict": [
    "dev.cc >= 80",
    "VECTOR * graph_widest <= 16",
    "TOGETHER * ITEMS * VECTOR <= 64",
    "MIN_BLOCKS * THREADS <= 2048",
    "FIRST_OUT == 0 || (SLOTS + AHEAD > 0 && VECTOR * graph_widest == 16)",
    "(kept_bytes + boxes + 1024) * MIN_BLOCKS <= dev.shared",
    "(TOGETHER * ITEMS * each / 4 + 28) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0", "shares > 0", "chunk <= (ITEMS + SLOTS) * THREADS * VECTOR"],
    "let": {
      "shares": "dev.sms * MIN_BLOCKS / GROUPS",
      "chunk": "max(up(cdiv(graph_cols, max(shares, 1)), VECTOR), THREADS * VECTOR)",
      "parts_used": "cdiv(graph_cols, chunk)"
    },
    "buffers": [
      {"name": "posted", "bytes": "GROUPS * 2 * TOGETHER * parts_used * graph_state * 8", "content": "restored"},
      {"name": "departed", "bytes": "GROUPS * 4", "content": "restored"}
    ],
    "launches": [
      {"name": "main", "entry": "rows_in_turns", "grid": ["GROUPS * parts_used"], "block": ["THREADS"], "shared": "kept_bytes",
       "cooperative": true, "args": ["graph", "posted", "departed", {"i64": "chunk"}, {"i32": "parts_used"}]}
    ]
  },
  "model": {
    "let": {
      "turns": "cdiv(graph_rows, GROUPS * TOGETHER)",
      "elements": "cdiv(chunk, THREADS)",
      "instructions": "TOGETHER * (elements * (graph_operations + 4) + graph_passes * 400 + 300)",
      "columns": "max(0, graph_bytes - graph_rows * graph_cols * graph_widest * (graph_held + graph_elements))",
      "again": "columns * (cdiv(graph_rows, TOGETHER) - 1)"
    },
    "blocks": "GROUPS * parts_used",
    "threads": "THREADS",
    "registers": "min(36 + TOGETHER * ITEMS * each / 4, 65536 / (THREADS * MIN_BLOCKS))",
    "shared_bytes": "kept_bytes + boxes + 512",
    "rounds": "256 * turns",
    "issue": "256 * THREADS / 32 * instructions / 4",
    "math": "256 * THREADS / 32 * TOGETHER * elements * graph_operations / 4",
    "shared": "256 * TOGETHER * min(chunk, (SLOTS + AHEAD * ITEMS) * THREADS * VECTOR) * each / VECTOR * 2 / 128",
    "fill": "256 * TOGETHER * chunk * graph_widest * graph_held / 64",
    "latency": "256 * 900",
    "ahead": "AHEAD",
    "chain": "256 * (graph_passes * 3500 + (AHEAD > 0 ? 0 : TOGETHER * chunk * graph_widest * graph_held / 40))",
    "start": "256 * 5000",
    "l2": "graph_bytes + again",
    "dram": "graph_bytes",
    "traits": {"width": "256 * VECTOR * graph_widest", "groups": "256 * GROUPS", "ahead": "256 + 256 * AHEAD", "threads": "THREADS * MIN_BLOCKS"}
  }
}
*/
// A group of blocks takes TOGETHER rows in a turn, each block a part of `chunk` neighbouring terms.
// A thread keeps the first ITEMS vectors of its share in registers and the next SLOTS in shared
// memory. AHEAD: those of registers lie in shared memory first, so that the next turn's are under
// way while this one's are folded; otherwise each vector is loaded again as soon as it is stored.
// Blocks post what they have of a fold, and wait for what the others of their group post.
#include "cupilot/team.cuh"
#include "cupilot/async_copy.cuh"

constexpr int WARPS = THREADS / 32;
constexpr int STEP = THREADS * VECTOR;
constexpr int PLACES = SLOTS + AHEAD * ITEMS;  // vectors of a row in shared memory, a thread

using Values = Graph::Values<VECTOR>;

// Copies neighbours to shared memory; those of less than a word pass through registers.
struct Copy {
  unsigned long long policy;

  template <class T>
  __device__ __forceinline__ void operator()(Vector<T, VECTOR>& to, const T* from) const {
    constexpr int BYTES = sizeof(to);
    if constexpr (BYTES == 16 && FIRST_OUT != 0) {
      asm volatile(
          "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(shared_address(&to)),
          "l"(from), "l"(policy)
          : "memory");
    } else if constexpr (BYTES >= 4) {
      copy_async<BYTES, LOAD_HINT != 0>(shared_address(&to), from);
    } else {
      to = load_vector<T, VECTOR>(from);
    }
  }
};

// Lets L2 rather give up these lines than others.
__device__ __forceinline__ Copy copying() {
  Copy out = {0};
  if constexpr (FIRST_OUT != 0)
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(out.policy));
  return out;
}

// A block's part of the rows of a turn: what a thread keeps of it, and where it lies.
struct Part {
  Values held[TOGETHER][ITEMS];
  Values* kept;  // this thread's first one
  long long first, end;
  Copy copy;

  __device__ __forceinline__ Values& slot(int r, int s) const {
    return kept[(r * PLACES + s) * THREADS];
  }
  __device__ __forceinline__ Values& waiting(int r, int k) const { return slot(r, SLOTS + k); }
  __device__ __forceinline__ long long item(int k) const { return first + k * STEP; }

  // Each begins to load one vector of a row.
  __device__ __forceinline__ void load_item(const Graph& graph, const Graph::Row& at, int r,
                                            int k) {
    if (item(k) < end) {
      if constexpr (AHEAD)
        graph.each_source<VECTOR>(at, item(k), waiting(r, k), copy);
      else
        held[r][k] = graph.load<VECTOR>(at, item(k));
    }
  }
  __device__ __forceinline__ void load_slot(const Graph& graph, const Graph::Row& at, int r,
                                            int s) {
    if (item(ITEMS + s) < end) graph.each_source<VECTOR>(at, item(ITEMS + s), slot(r, s), copy);
  }
  __device__ __forceinline__ void load(const Graph& graph, const Graph::Row& at, int r) {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) load_item(graph, at, r, k);
#pragma unroll 4
    for (int s = 0; s < SLOTS; ++s) load_slot(graph, at, r, s);
  }
};

// Rows of a turn, and whether there are as many.
struct Turn {
  Graph::Row at[TOGETHER];
  bool is[TOGETHER];

  __device__ __forceinline__ Turn(const Graph& graph, long long row) {
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      at[r].row = row + r;
      is[r] = row + r < graph.all_rows();
    }
  }
};

// The words that a group's blocks post: a float beside the number of its exchange, seen whole, so
// that no other order is needed. Two halves: a block posts to one again once it has seen the other
// complete, which nobody posts to before having read the first.
struct Exchange {
  unsigned long long* words;
  float* boxes;  // a value a warp, for each row of a turn: of a block and of a group
  int part, parts;
  unsigned number = 0;  // of the exchange

  __device__ __forceinline__ unsigned long long* of(int r, int from) const {
    return words + (((number & 1) * TOGETHER + r) * parts + from) * MOST_STATE;
  }
  __device__ __forceinline__ float* box(int r, int whose) const {
    return boxes + (whose * TOGETHER + r) * WARPS * MOST_STATE;
  }
  // True where the word is there.
  __device__ __forceinline__ bool read(const unsigned long long* from, float& value) const {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    value = __uint_as_float(static_cast<unsigned>(word));
    return static_cast<unsigned>(word >> 32) == number;
  }
  template <class How>
  __device__ __forceinline__ static typename How::State of_warps(const float* box) {
    const int warp = static_cast<int>(threadIdx.x) % WARPS;
    return of_team<WARPS, How>(state_at<typename How::State>(box + warp * How::SIZE), nullptr);
  }
  // Keeps what a warp has; `some`: more than nothing.
  template <class How>
  __device__ __forceinline__ static void put(typename How::State value, bool some, float* box) {
    if (some) value = of_team<32, How>(value, nullptr);
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < How::SIZE; ++i) box[threadIdx.x / 32 * How::SIZE + i] = value.of[i];
    }
    __syncthreads();
  }

  // The thread that will ask for the words posts them.
  template <class How>
  __device__ __forceinline__ void post(int r, const typename How::State& own) {
    put<How>(own, true, box(r, 0));
    const int thread = static_cast<int>(threadIdx.x), posting = part % THREADS;
    if (thread / 32 != posting / 32) return;
    const auto value = of_warps<How>(box(r, 0));
    if (thread == posting) {
#pragma unroll
      for (int i = 0; i < How::SIZE; ++i) {
        const unsigned long long word =
            static_cast<unsigned long long>(number) << 32 | __float_as_uint(value.of[i]);
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(of(r, part) + i), "l"(word)
                     : "memory");
      }
    }
  }
  template <class How>
  __device__ __forceinline__ typename How::State whole(int r) {
    auto value = How::nothing();
#pragma unroll 1
    for (int from = static_cast<int>(threadIdx.x); from < parts; from += THREADS) {
      typename How::State other;
      bool there;
      do {
        there = true;
        while (!read(of(r, from) + How::SIZE - 1, other.of[How::SIZE - 1])) {
        }
#pragma unroll
        for (int i = 0; i < How::SIZE - 1; ++i) there &= read(of(r, from) + i, other.of[i]);
      } while (!there);
      value = How::of(value, other);
    }
    put<How>(value, static_cast<int>(threadIdx.x) / 32 * 32 < parts, box(r, 1));
    return of_warps<How>(box(r, 1));
  }
};

// Sets words back to zero, by the last block of a group to depart.
__device__ __forceinline__ void depart(unsigned long long* words, int count, unsigned* departed,
                                       int parts) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(departed, 1u) == static_cast<unsigned>(parts - 1);
    if (last) atomicExch(departed, 0u);
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += THREADS) words[i] = 0;
}

// Pass P and those after it. The first one takes what has come and begins to load the next turn's.
template <int P>
__device__ __forceinline__ void fold_all(const Graph& graph, Turn& turn, const Turn& next,
                                         Part& part, Exchange& exchange) {
  if constexpr (P < PASSES) {
    using How = Pass<P>;
    ++exchange.number;
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      if (!turn.is[r]) continue;
      auto state = How::nothing();
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        if (part.item(k) >= part.end) continue;
        if constexpr (AHEAD && P == 0) {
          part.held[r][k] = part.waiting(r, k);
          if (next.is[r]) part.load_item(graph, next.at[r], r, k);
        }
        graph.fold<P, VECTOR>(turn.at[r], part.item(k), part.held[r][k], state);
      }
#pragma unroll 4
      for (int s = 0; s < SLOTS; ++s) {
        if (part.item(ITEMS + s) < part.end)
          graph.fold<P, VECTOR>(turn.at[r], part.item(ITEMS + s), part.slot(r, s), state);
      }
      exchange.post<How>(r, state);
    }
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      if (turn.is[r]) graph.finish<P>(turn.at[r], exchange.whole<How>(r));
    }
    fold_all<P + 1>(graph, turn, next, part, exchange);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    rows_in_turns(GRAPH_PARAMETERS, unsigned long long* posted, unsigned* departed, long long chunk,
                  int parts) {
  extern __shared__ __align__(16) unsigned char slots[];
  __shared__ float boxes[2 * TOGETHER * WARPS * MOST_STATE];
  const Graph graph{GRAPH_ARGUMENTS};
  const int group = static_cast<int>(blockIdx.x) / parts,
            own = static_cast<int>(blockIdx.x) % parts;
  const int count = 2 * TOGETHER * parts * MOST_STATE;
  posted += static_cast<long long>(group) * count;
  Exchange exchange{posted, boxes, own, parts};
  Part part;
  part.kept = reinterpret_cast<Values*>(slots) + threadIdx.x;
  part.first = own * chunk + static_cast<int>(threadIdx.x) * VECTOR;
  part.end = min(graph.all_columns(), (own + 1) * chunk);
  part.copy = copying();
  Turn turn(graph, group * TOGETHER);
#pragma unroll
  for (int r = 0; r < TOGETHER; ++r) {
    if (turn.is[r]) part.load(graph, turn.at[r], r);
  }
  commit_copies();
#pragma unroll 1
  while (turn.is[0]) {
    const Turn next(graph, turn.at[0].row + GROUPS * TOGETHER);
    wait_copies<0>();  // a thread reads its own alone
    fold_all<0>(graph, turn, next, part, exchange);
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (part.item(k) >= part.end) continue;
#pragma unroll
      for (int r = 0; r < TOGETHER; ++r) {
        if (!turn.is[r]) continue;
        if constexpr (STORES_ELEMENTS)
          graph.store<VECTOR>(turn.at[r], part.item(k), part.held[r][k]);
        if (!AHEAD && next.is[r]) part.load_item(graph, next.at[r], r, k);
      }
    }
#pragma unroll 4
    for (int s = 0; s < SLOTS; ++s) {
      if (part.item(ITEMS + s) >= part.end) continue;
#pragma unroll
      for (int r = 0; r < TOGETHER; ++r) {
        if (!turn.is[r]) continue;
        if constexpr (STORES_ELEMENTS)
          graph.store<VECTOR>(turn.at[r], part.item(ITEMS + s), part.slot(r, s));
        if (next.is[r]) part.load_slot(graph, next.at[r], r, s);
      }
    }
    commit_copies();
    if (own == 0 && threadIdx.x == 0) {
#pragma unroll
      for (int r = 0; r < TOGETHER; ++r) {
        if (turn.is[r]) graph.store_row(turn.at[r]);
      }
    }
    turn = next;
  }
  depart(posted, count, departed + group, parts);
}
