/* cupilot tunable 1
{
  "name": "softmax_paged",
  "family": "softmax",
  "summary": "softmax of long rows by a cluster a row (Hopper): slices in a ring of pages, which later rows fill as results leave",
  "provides": ["paged_rows", "online_reduction"],
  "requires": ["paged_rows"],
  "when": ["elem.x == elem.y", "elem.x == 2 || elem.x == 4", "LOG == 0 || LOG == 1"],
  "parameters": {
    "CLUSTER": {"name": "page_cluster", "technique": "paged_rows", "domain": [2, 4, 8], "plain": 8},
    "PAGE": {"name": "page_bytes", "technique": "paged_rows", "domain": [2048, 4096, 8192, 16384], "plain": 8192},
    "ROLE": {"name": "role_threads", "technique": "paged_rows", "domain": [128, 256], "plain": 256},
    "BATCH": {"name": "batch_pages", "technique": "paged_rows", "domain": [1, 2, 4, 8], "plain": 4},
    "TURNS": {"name": "turns", "technique": "row_turns", "domain": [0, 1, 2, 4, 8, 16, 32, 64], "plain": 1},
    "MIN_BLOCKS": {"name": "min_blocks", "technique": "launch_bounds", "domain": [1, 2, 3], "plain": 1},
    "FAST_EXP": {"name": "fast_exponential", "technique": "fast_exponential", "domain": [0, 1], "plain": 0},
    "LOAD_HINT": {"name": "cache_hint", "technique": "cache_hint", "domain": [0, 1], "plain": 0},
    "STORE_HINT": {"name": "evict_first_store", "technique": "evict_first_store", "domain": [0, 1], "plain": 0}
  },
  "let": {
    "chunk": "16 / elem.x",
    "each": "PAGE / 16 / ROLE",
    "held": "each * max(4 * BATCH, chunk)",
    "needed": "16 * (233472 / (MIN_BLOCKS * PAGE)) + CLUSTER * ROLE / 2 + 256",
    "places": "CLUSTER > 2 ? dev.sms / 16 * 16 - 8 : dev.sms",
    "slots": "((dev.shared + 1024) / MIN_BLOCKS - 1024 - needed) / PAGE"
  },
  "restrict": [
    "dev.cc >= 90",
    "PAGE >= 16 * ROLE",
    "MIN_BLOCKS * (2 * ROLE + 32) <= 2048",
    "held <= 128",
    "(held + 44) * MIN_BLOCKS * up(2 * ROLE + 32, 128) <= dev.registers",
    "slots >= 4"
  ],
  "registers": "min(held * 9 / 8 + 44, 65536 / (up(2 * ROLE + 32, 128) * MIN_BLOCKS))",
  "plan": {
    "let": {
      "slice": "up(cdiv(cdiv(cols, chunk) + (cols % chunk != 0), CLUSTER), 8)",
      "pages": "cdiv(slice * 16, PAGE)",
      "spare": "min(max(32768 / PAGE, 1), slots / 2)",
      "again": "pages <= slots ? 0 : pages - slots + spare",
      "clusters": "TURNS > 0 ? cdiv(rows, TURNS) : min(rows, max(resident.main / dev.sms * places / CLUSTER, 1))"
    },
    "launches": [
      {"name": "main", "entry": "softmax_paged", "grid": ["clusters * CLUSTER"], "block": ["2 * ROLE + 32"], "cluster": ["CLUSTER"],
       "shared": "slots * PAGE", "args": ["x", "y", {"i64": "rows"}, {"i32": "cols"}, {"i32": "slice"}, {"i32": "slots"}, {"i32": "again"}]}
    ]
  },
  "model": {
    "let": {
      "cut": "cols % chunk != 0",
      "per_element": "(FAST_EXP ? weight.fast_exp : weight.exp) + (elem.x == 2 ? weight.narrow : 0)",
      "instructions": "2 * ROLE / 32 * (each * (chunk * per_element / 2 + weight.load + cut * weight.cut * chunk) + weight.page)",
      "turns": "TURNS > 0 ? TURNS : cdiv(rows, min(rows, max(model.resident * places / CLUSTER, 1)))",
      "spares": "slots - pages + (again > 0 ? again : BATCH)",
      "whole": "rows * cols * elem.x",
      "reread": "rows * again * CLUSTER * PAGE"
    },
    "blocks": "cdiv(rows, turns) * CLUSTER",
    "threads": "2 * ROLE + 32",
    "registers": "min(held * weight.element_registers / 1000 + weight.registers, 65536 / (up(2 * ROLE + 32, 128) * MIN_BLOCKS))",
    "shared_bytes": "slots * PAGE + needed",
    "rounds": "256 * turns * (pages + again)",
    "issue": "256 * instructions / 4",
    "math": "256 * PAGE / elem.x / 128 * 4",
    "shared": "256 * PAGE * 3 / 128",
    "fill": "256 * PAGE / weight.fill_bytes",
    "latency": "256 * weight.latency",
    "ahead": "max(spares, 1)",
    "chain": "256 * (weight.page_wait + (spares * PAGE >= weight.much_bytes ? weight.much_wait : spares * PAGE >= weight.some_bytes ? weight.some_wait : weight.little_wait) / pages)",
    "ends": "256 * cdiv(cdiv(rows, turns) * CLUSTER, dev.sms) * (min(pages, slots) * PAGE / weight.store_bytes + weight.end) / model.resident",
    "start": "256 * weight.start",
    "l2": "2 * whole + reread",
    "dram": "2 * whole + (model.resident * dev.sms / CLUSTER * cols * elem.x > dev.l2 * weight.l2_percent / 100 ? reread : 0)",
    "traits": {"idle": "256 * pages * PAGE / (slice * 16)", "cluster": "256 * CLUSTER", "page": "256 * PAGE / 1024", "again": "256 + 256 * again / pages"}
  }
}
*/
// A cluster takes a row, each of its blocks a slice of neighbouring chunks, which passes through
// shared memory in pages. One warp asks the copy engine for pages, ROLE threads add up exponentials
// as pages land, and as many store results once the cluster's shares have met. A page that was
// stored is filled with what comes next, so that rows are brought while earlier ones leave. With
// TURNS 0 there are as many clusters as find places where all groups of SMs but one have 16 or a
// few more: 15 clusters of eight blocks are resident on an H200.
constexpr int VECTOR = 16 / static_cast<int>(sizeof(T_x));
#include "cupilot/vector.cuh"
#include "cupilot/async_copy.cuh"
#include "cupilot/barrier.cuh"
#include "cupilot/bulk_copy.cuh"
#include "cupilot/tma.cuh"
#include "cupilot/softmax_row.cuh"
#include "cupilot/softmax_held.cuh"
#include "cupilot/softmax_pages.cuh"

constexpr int MOST_SLOTS = 233472 / (MIN_BLOCKS * PAGE);

// The rows of this block's cluster.
struct Rows {
  const T_x* x;
  T_y* y;
  long long count, first, step;
  int cols;

  template <class Visit>
  __device__ __forceinline__ void each(Visit visit) const {
#pragma unroll 1
    for (long long r = first; r < count; r += step) visit(Row(x, y, r, cols));
  }
};

// One thread: brings pages in the order of their visits.
__device__ __forceinline__ void bring(const Rows& rows, const Slice& slice, PageRing ring) {
  rows.each([&](const Row& row) {
#pragma unroll 1
    for (int fill = 0; fill < slice.fills(); ++fill) {
      const int page = slice.page(fill);
      ring.wait_empty();
      // A page that is read again may stay in L2 until then.
      if (LOAD_HINT != 0 && fill >= slice.again) {
        ring.ask<true>(row, slice.begin(page), slice.end(page));
      } else {
        ring.ask<false>(row, slice.begin(page), slice.end(page));
      }
      ring.skip(1);
    }
  });
}

// ROLE threads: send each warp's maximum and sum of its part of the slice. `landed`: told once a
// row that its last page has come. Without it a slot could still wait for one that only the storing
// warps look at, and its parity would say that the one after it is there.
__device__ __forceinline__ void add_up(const Rows& rows, const Slice& slice, PageRing ring,
                                       Exchange exchange, unsigned landed, int rank, int thread) {
  const int lane = thread % 32;
  unsigned parity = 1;
  rows.each([&](const Row& row) {
    if (slice.again > 0) wait_barrier(landed, parity);
    parity ^= 1;
    Share own = empty_share();
#pragma unroll 1
    for (int page = 0; page < slice.pages; ++page) {
      ring.wait_full();
      Held<EACH, ROLE> held;
      ring.read(held, row, slice.begin(page), slice.end(page), thread);
      ring.release(lane, page < slice.again ? 2 : 1);
      ring.skip(1);
      if (!holds_any(held)) continue;
      const float largest = fmaxf(own.largest, held.largest());
      own.sum *= exponential(own.largest - base_of(largest));
      own.sum += held.exponentials(base_of(largest));
      own.largest = largest;
    }
    ring.skip(slice.again);
    const float largest = largest_of<32>(own.largest);
    own.sum = sum_of<32>(own.sum * exponential(own.largest - base_of(largest)));
    own.largest = largest;
    exchange.send(own, rank * ROLE_WARPS + thread / 32, lane);
  });
}

// ROLE threads: store the results. BATCH pages leave shared memory before the first of them is
// stored. The first ones of a row do so before its shares have met, unless pages are read again:
// then what a slot waits for is known only when all summing warps have passed.
__device__ __forceinline__ void finish(const Rows& rows, const Slice& slice, PageRing ring,
                                       Exchange exchange, unsigned landed, int thread) {
  const int lane = thread % 32;
  rows.each([&](const Row& row) {
    Ending ending(empty_share());
    if (slice.again > 0) ending = Ending(exchange.receive(thread < 32, lane));
    ring.skip(slice.again);
#pragma unroll 1
    for (int from = slice.again; from < slice.fills(); from += BATCH) {
      Held<EACH, ROLE> held[BATCH];
#pragma unroll
      for (int i = 0; i < BATCH; ++i) {
        const int fill = from + i;
        if (fill >= slice.fills()) break;
        const int page = slice.page(fill);
        ring.wait_full();
        if (fill + 1 == slice.fills() && lane == 0) arrive(landed);
        ring.read(held[i], row, slice.begin(page), slice.end(page), thread);
        ring.release(lane, fill < slice.pages ? 1 : 2);
        ring.skip(1);
      }
      if (from == 0) ending = Ending(exchange.receive(thread < 32, lane));
#pragma unroll
      for (int i = 0; i < BATCH; ++i) {
        if (from + i < slice.fills() && holds_any(held[i])) held[i].finish(row, ending);
      }
    }
  });
}

extern "C" __global__ void __launch_bounds__(2 * ROLE + 32, MIN_BLOCKS)
    softmax_paged(const T_x* x, T_y* y, long long count, int cols, int chunks, int slots,
                  int again) {
  extern __shared__ __align__(128) Chunk pages[];
  __shared__ Share boxes[2][SHARES];
  __shared__ Barrier full[MOST_SLOTS], empty[MOST_SLOTS], filled[2], freed[2], last;
  const int rank = cluster_rank();
  const int thread = static_cast<int>(threadIdx.x);
  const Rows rows{x, y, count, blockIdx.x / CLUSTER, gridDim.x / CLUSTER, cols};
  const Slice slice{rank * chunks, chunks, (chunks + PAGE_CHUNKS - 1) / PAGE_CHUNKS, again};
  const PageRing ring{shared_address(pages), shared_address(full), shared_address(empty), pages,
                      slots};
  const Exchange exchange{shared_address(boxes), shared_address(filled), shared_address(freed),
                          boxes};
  const unsigned landed = shared_address(&last);
  if (thread == 0) {
    init_barrier(landed, ROLE_WARPS);
    for (int s = 0; s < slots; ++s) {
      init_barrier(ring.full + s * 8, 1);
      init_barrier(ring.empty + s * 8, 2 * ROLE_WARPS);
    }
    exchange.prepare();
    publish_barriers();
  }
  cluster_wait();
  if (thread < ROLE) {
    finish(rows, slice, ring, exchange, landed, thread);
  } else if (thread < 2 * ROLE) {
    add_up(rows, slice, ring, exchange, landed, rank, thread - ROLE);
  } else if (thread == 2 * ROLE) {
    bring(rows, slice, ring);
  }
  // Others may still send to this block.
  __syncwarp();
  cluster_wait();
}
