/* cupilot tunable 2
{
  "name": "rows_in_cluster",
  "family": "rowwise",
  "anchor": "row_reduction",
  "summary": "long rows reduced and finished by a cluster each (Hopper): slices in registers and shared memory, read once where they fit",
  "provides": ["cluster_rows", "register_rows"],
  "requires": ["cluster_rows"],
  "parameters": {
    "CLUSTER": {"name": "cluster", "technique": "cluster_rows", "domain": [2, 4, 8], "plain": 8},
    "THREADS": {"name": "slice_threads", "technique": "cluster_rows", "domain": [128, 256, 512, 1024], "plain": 256},
    "VECTOR": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1},
    "ITEMS": {"name": "items", "technique": "items_per_thread", "domain": [1, 2, 3, 4, 6, 8, 12, 16], "plain": 4},
    "SLOTS": {"name": "slots", "domain": [0, 2, 4, 8, 12, 16, 24, 32, 48], "plain": 0},
    "FIT": {"name": "fit", "domain": [0, 1, 2], "plain": 0},
    "TURNS": {"name": "turns", "domain": [1, 2, 4, 8, 16], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3, 4], "plain": 1},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "each": "VECTOR * graph_inputs * graph_widest",
    "kept_bytes": "SLOTS * THREADS * each",
    "boxes": "CLUSTER * THREADS / 4 * graph_state",
    "held": "CLUSTER * (ITEMS + SLOTS) * THREADS * VECTOR"
  },
  "restrict": [
    "dev.cc >= 90",
    "CLUSTER * THREADS <= 2048",
    "VECTOR * graph_widest <= 16",
    "ITEMS * VECTOR <= 64",
    "MIN_BLOCKS * THREADS <= 2048",
    "(kept_bytes + boxes + 1536) * MIN_BLOCKS <= dev.shared",
    "(ITEMS * each / 4 + 36) * MIN_BLOCKS * THREADS <= dev.registers"
  ],
  "plan": {
    "require": ["graph_run % VECTOR == 0", "FIT == 0 || graph_cols <= held", "FIT != 2 || graph_cols == held"],
    "let": {
      "clusters": "cdiv(graph_rows, TURNS)"
    },
    "launches": [
      {"name": "main", "entry": "rows_in_cluster", "grid": ["clusters * CLUSTER"], "block": ["THREADS"], "cluster": ["CLUSTER"],
       "shared": "kept_bytes", "args": ["graph"]}
    ]
  },
  "model": {
    "let": {
      "slice": "cdiv(graph_cols, CLUSTER)",
      "beyond": "max(0, slice - held / CLUSTER)",
      "walks": "graph_passes + (graph_elements > 0)",
      "again": "graph_rows * CLUSTER * beyond * graph_widest * (walks - 1)",
      "transfers": "(slice * (graph_inputs + graph_late + graph_elements) + beyond * (walks - 1)) * graph_widest / weight.transfer_bytes",
      "elements": "cdiv(slice, THREADS)",
      "instructions": "elements * (graph_operations + weight.element) + graph_passes * weight.pass + weight.block"
    },
    "blocks": "clusters * CLUSTER",
    "threads": "THREADS",
    "registers": "min(weight.registers + (ITEMS + (FIT == 0 ? 4 : 0)) * each / 4, 65536 / (THREADS * MIN_BLOCKS))",
    "shared_bytes": "kept_bytes + boxes + 512",
    "rounds": "256 * TURNS",
    "issue": "256 * THREADS / 32 * instructions / 4",
    "math": "256 * THREADS / 32 * elements * graph_operations / 4",
    "shared": "256 * min(slice, SLOTS * THREADS * VECTOR) * each / VECTOR * walks / 128",
    "fill": "256 * (slice + beyond * (walks - 1)) * graph_widest / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "chain": "256 * (weight.wait + graph_passes * weight.pass_wait + cdiv(beyond, THREADS * VECTOR * 4) * walks * weight.walk_wait + transfers)",
    "start": "256 * weight.start",
    "l2": "graph_bytes + again",
    "dram": "graph_bytes + (model.resident * dev.sms / CLUSTER * graph_cols * graph_widest > dev.l2 * weight.l2_percent / 100 ? again : 0)",
    "traits": {"width": "256 * VECTOR * graph_widest", "idle": "256 * held / graph_cols", "cluster": "256 * CLUSTER"}
  }
}
*/
// A cluster takes a row, each of its blocks a slice of neighbouring elements. A thread keeps its
// first ITEMS vectors in registers and the next SLOTS in shared memory, which no other thread looks
// at; what is longer is read again by each pass. Warps send what they have of a pass to all blocks
// of the cluster. FIT 1: no row is longer. FIT 2: every row is as long. Code for other rows is left
// out, since what it needs would take registers from all.
#include "cupilot/team.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"

constexpr int WARPS = THREADS / 32;
constexpr int STEP = THREADS * VECTOR;
constexpr int TOGETHER = 4;  // loads under way of what is not kept

using Values = Graph::Values<VECTOR>;

// Copies neighbours to shared memory; those of less than a word pass through registers.
struct Copy {
  template <class T>
  __device__ __forceinline__ void operator()(Vector<T, VECTOR>& to, const T* from) const {
    constexpr int BYTES = sizeof(to);
    if constexpr (BYTES >= 4)
      copy_async<BYTES, LOAD_HINT != 0>(shared_address(&to), from);
    else
      to = load_vector<T, VECTOR>(from);
  }
};

// A block's part of a row: what a thread keeps of it, and where it lies.
struct Slice {
  Values held[ITEMS];
  Values* kept;  // this thread's first one
  long long first, end;

  // Begins to copy what shared memory keeps, so that all of it is under way, and loads the rest.
  __device__ __forceinline__ void load(const Graph& graph, const Graph::Row& at) {
    if constexpr (SLOTS > 0) {
      const long long from = first + ITEMS * STEP;
#pragma unroll 4
      for (int s = 0; s < SLOTS; ++s) {
        if (in_slice(from + s * STEP))
          graph.each_source<VECTOR>(at, from + s * STEP, kept[s * THREADS], Copy());
      }
      commit_copies();
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (in_slice(first + k * STEP)) held[k] = graph.load<VECTOR>(at, first + k * STEP);
    }
  }
  // Calls `each(column, values)` for all of a thread's share.
  template <class Each>
  __device__ __forceinline__ void for_all(const Graph& graph, const Graph::Row& at,
                                          Each each) const {
    for_held(each);
    for_slots(each);
    if constexpr (FIT == 0) {
      const auto load = [&](long long column) { return graph.load<VECTOR>(at, column); };
#pragma unroll 1
      for (long long top = beyond(); top < end; top += TOGETHER * STEP) for_others(top, load, each);
    }
  }
  // Computes and stores a thread's share, from the end, of which L2 may still have something. What
  // outputs alone read is loaded here, several vectors at a time.
  __device__ __forceinline__ void store(const Graph& graph, const Graph::Row& at) const {
    const auto put = [&](long long column, const Graph::All<VECTOR>& all) {
      graph.store<VECTOR>(at, column, all);
    };
    if constexpr (FIT == 0) {
      if (beyond() < end) {
        const auto load = [&](long long column) { return graph.load_all<VECTOR>(at, column); };
        const long long batches = (end - beyond() - 1) / (TOGETHER * STEP);
#pragma unroll 1
        for (long long top = beyond() + batches * TOGETHER * STEP; top >= beyond();
             top -= TOGETHER * STEP)
          for_others(top, load, put);
      }
    }
    constexpr int LATE = ITEMS < TOGETHER ? ITEMS : TOGETHER;
#pragma unroll
    for (int top = 0; top < ITEMS; top += LATE) {
      Graph::All<VECTOR> all[LATE];
#pragma unroll
      for (int k = 0; k < LATE && top + k < ITEMS; ++k) {
        const long long column = first + (top + k) * STEP;
        if (in_slice(column)) all[k] = graph.complete<VECTOR>(at, column, held[top + k]);
      }
#pragma unroll
      for (int k = 0; k < LATE && top + k < ITEMS; ++k) {
        const long long column = first + (top + k) * STEP;
        if (in_slice(column)) put(column, all[k]);
      }
    }
    for_slots([&](long long column, const Values& values) {
      put(column, graph.complete<VECTOR>(at, column, values));
    });
  }

 private:
  __device__ __forceinline__ bool in_slice(long long column) const {
    return FIT == 2 || column < end;
  }
  // The first element that a thread does not keep.
  __device__ __forceinline__ long long beyond() const { return first + (ITEMS + SLOTS) * STEP; }
  template <class Each>
  __device__ __forceinline__ void for_held(Each each) const {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (in_slice(first + k * STEP)) each(first + k * STEP, held[k]);
    }
  }
  template <class Each>
  __device__ __forceinline__ void for_slots(Each each) const {
    if constexpr (SLOTS > 0) {
      wait_copies<0>();  // a thread reads its own alone
      const long long from = first + ITEMS * STEP;
#pragma unroll 4
      for (int s = 0; s < SLOTS; ++s) {
        if (in_slice(from + s * STEP)) each(from + s * STEP, kept[s * THREADS]);
      }
    }
  }
  template <class Load, class Each>
  __device__ __forceinline__ void for_others(long long top, Load load, Each each) const {
    decltype(load(top)) loaded[TOGETHER];
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k) {
      if (top + k * STEP < end) loaded[k] = load(top + k * STEP);
    }
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k) {
      if (top + k * STEP < end) each(top + k * STEP, loaded[k]);
    }
  }
};

// Holds what each warp has, in the shared memory of all blocks. Two halves: a warp sends to one
// again after the barrier that follows the other, which all reach after reading the first.
struct Exchange {
  float (*boxes)[CLUSTER * WARPS * MOST_STATE];
  int rank;
  long long columns, length;  // of a row, of a block's slice
  int half = 0;

  // True for a warp with elements of the slice.
  __device__ __forceinline__ bool takes_part(int block, int warp) const {
    const long long first = block * length;
    return first + warp * 32 * VECTOR < min(columns, first + length);
  }
  template <class How>
  __device__ __forceinline__ typename How::State combined(typename How::State value) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    value = of_team<32, How>(value, nullptr);
    if (lane < CLUSTER) {
      float* box = &boxes[half][(rank * WARPS + warp) * How::SIZE];
      const unsigned there = address_in(shared_address(box), lane);
#pragma unroll
      for (int i = 0; i < How::SIZE; ++i)
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there + i * 4), "f"(value.of[i])
                     : "memory");
    }
    cluster_wait();
    value = How::nothing();
#pragma unroll 1
    for (int i = lane; i < CLUSTER * WARPS; i += 32) {
      if (takes_part(i / WARPS, i % WARPS))
        value = How::of(value, state_at<typename How::State>(boxes[half] + i * How::SIZE));
    }
    half ^= 1;
    return of_team<32, How>(value, nullptr);
  }
};

// Pass P and those after it.
template <int P>
__device__ __forceinline__ void fold_all(const Graph& graph, Graph::Row& at, const Slice& slice,
                                         Exchange& exchange) {
  if constexpr (P < PASSES) {
    using How = Pass<P>;
    auto state = How::nothing();
    slice.for_all(graph, at, [&](long long column, const Values& values) {
      graph.fold<P, VECTOR>(at, column, values, state);
    });
    graph.finish<P>(at, exchange.combined<How>(state));
    fold_all<P + 1>(graph, at, slice, exchange);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    rows_in_cluster(GRAPH_PARAMETERS) {
  extern __shared__ __align__(16) unsigned char slots[];
  __shared__ float boxes[2][CLUSTER * WARPS * MOST_STATE];
  const Graph graph{GRAPH_ARGUMENTS};
  const int rank = cluster_rank();
  const long long columns = graph.all_columns();
  const long long length = (columns + CLUSTER * VECTOR - 1) / (CLUSTER * VECTOR) * VECTOR;
  Exchange exchange{boxes, rank, columns, length};
  Slice slice;
  slice.kept = reinterpret_cast<Values*>(slots) + threadIdx.x;
  slice.first = rank * length + static_cast<int>(threadIdx.x) * VECTOR;
  slice.end = min(columns, (rank + 1) * length);
  cluster_wait();  // nobody sends to a block that has not begun
  const bool works = exchange.takes_part(rank, static_cast<int>(threadIdx.x) / 32);
#pragma unroll 1
  for (long long row = blockIdx.x / CLUSTER; row < graph.all_rows(); row += gridDim.x / CLUSTER) {
    if (!works) {  // a warp of nothing only waits for the others
#pragma unroll 1
      for (int pass = 0; pass < PASSES; ++pass) cluster_wait();
      continue;
    }
    Graph::Row at = {row};
    slice.load(graph, at);
    fold_all<0>(graph, at, slice, exchange);
    if constexpr (STORES_ELEMENTS) slice.store(graph, at);
    if (rank == 0 && threadIdx.x == 0) graph.store_row(at);
  }
}
