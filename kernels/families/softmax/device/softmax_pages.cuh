// A ring of pages in shared memory through which slices of rows pass, and the exchange of a
// cluster's shares. Who waits and who tells are different warps, so all is done by mbarriers.
// Wants: CLUSTER, ROLE, PAGE; softmax_held.cuh, barrier.cuh, bulk_copy.cuh, async_copy.cuh,
// tma.cuh.
constexpr int ROLE_WARPS = ROLE / 32;
constexpr int SHARES = CLUSTER * ROLE_WARPS;
constexpr int PAGE_CHUNKS = PAGE / CHUNK;
constexpr int EACH = PAGE_CHUNKS / ROLE;  // chunks of a page that a thread of a role takes
static_assert(EACH * ROLE == PAGE_CHUNKS, "a role's threads share a page evenly");

// Sends a share whose bytes are counted down on `barrier`; both addresses as address_in() gives
// them.
__device__ __forceinline__ void post_share(unsigned there, const Share& share, unsigned barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::
          "r"(there),
      "f"(share.largest), "f"(share.sum), "r"(barrier)
      : "memory");
}
// Shares of all summing warps of the cluster in the shared memory of each block: two halves, which
// rows take in turn. All storing warps of the cluster free a half before anyone sends to it again.
struct Exchange {
  unsigned box, filled, freed;  // the first half, and the first of two barriers each
  const Share (*halves)[SHARES];
  int half = 0;
  unsigned parity = 0;

  // One thread. The bytes of the next phase of a half.
  __device__ __forceinline__ void expect(int which) const {
    arrive_expecting(filled + which * 8, SHARES * static_cast<int>(sizeof(Share)));
  }
  __device__ __forceinline__ void prepare() const {
    for (int which = 0; which < 2; ++which) {
      init_barrier(filled + which * 8, 1);
      init_barrier(freed + which * 8, SHARES);
      expect(which);
    }
  }
  // A summing warp; `warp` counts those of the cluster.
  __device__ __forceinline__ void send(const Share& own, int warp, int lane) {
    wait_barrier(freed + half * 8, parity ^ 1);
    const int place = (half * SHARES + warp) * static_cast<int>(sizeof(Share));
    if (lane < CLUSTER)
      post_share(address_in(box + place, lane), own, address_in(filled + half * 8, lane));
    advance();
  }
  // A storing warp; one of the block's is the first.
  __device__ __forceinline__ Share receive(bool first, int lane) {
    wait_barrier<true>(filled + half * 8, parity);
    const Share all = join_shares<SHARES>(halves[half]);
    if (first && lane == 0) expect(half);
    fence_for_copies();
    __syncwarp();
    if (lane < CLUSTER) arrive_remote(address_in(freed + half * 8, lane));
    advance();
    return all;
  }
  __device__ __forceinline__ void advance() {
    parity ^= half;
    half ^= 1;
  }
};

// A block's slice of a row: `pages` pages, of which the first `again` do not stay. Their visits:
// all pages for the sum, in order; then all for the results, those that stayed first. A page that
// stays is brought once, one that does not for each visit.
struct Slice {
  int from, count;  // first chunk, number of chunks
  int pages, again;

  __device__ __forceinline__ int begin(int page) const { return from + page * PAGE_CHUNKS; }
  __device__ __forceinline__ int end(int page) const {
    return min(begin(page) + PAGE_CHUNKS, from + count);
  }
  __device__ __forceinline__ int fills() const { return pages + again; }
  __device__ __forceinline__ int page(int fill) const { return fill < pages ? fill : fill - pages; }
};

// A chunk of the page is some lane's of this warp.
__device__ __forceinline__ bool holds_any(const Held<EACH, ROLE>& held) {
  return held.start - static_cast<int>(threadIdx.x) % 32 < held.end;
}

// One role's place in the ring.
struct PageRing {
  unsigned base, full, empty;  // the first page, the first barrier of each kind
  const Chunk* chunks;         // the same first page
  int slots;
  int slot = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void skip(int count) {
    slot += count;
    while (slot >= slots) {
      slot -= slots;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void wait_empty() const { wait_barrier(empty + slot * 8, parity ^ 1); }
  __device__ __forceinline__ void wait_full() const { wait_barrier(full + slot * 8, parity); }
  // One thread. Only whole chunks are copied; who holds a cut one reads it from global memory.
  template <bool STREAM>
  __device__ __forceinline__ void ask(const Row& row, int begin, int end) const {
    const int first = max(begin, row.before > 0 ? 1 : 0);
    const int last = min(end, (row.before + row.cols) / VECTOR);
    const int size = row.aligned ? max(0, last - first) * CHUNK : 0;
    arrive_expecting(full + slot * 8, size);
    if (size > 0)
      copy_bulk<STREAM>(base + slot * PAGE + (first - begin) * CHUNK, row.x + row.column(first),
                        size, full + slot * 8, STREAM ? evict_first_policy() : 0);
  }
  // This thread's chunks of a page.
  __device__ __forceinline__ void read(Held<EACH, ROLE>& held, const Row& row, int begin, int end,
                                       int thread) const {
    held.start = begin + thread;
    held.end = min(end, row.chunks());
    if (!holds_any(held)) return;
    const Chunk* mine = chunks + slot * PAGE_CHUNKS + thread;
    held.load(row, held.start, held.end,
              [&](int i) { return load_vector<unsigned, WORDS>(mine[i * ROLE].at); });
  }
  // The warp has read its chunks, for `roles` roles: both look at a page that stays, else one.
  __device__ __forceinline__ void release(int lane, int roles) const {
    fence_for_copies();
    __syncwarp();
    if (lane == 0) arrive(empty + slot * 8, roles);
  }
};
