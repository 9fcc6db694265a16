// Attention by warpgroups. A block takes 64 CONSUMERS queries and BLOCK_N columns of y. A producer
// thread brings the queries once, and tiles of KEYS keys and values through a ring, by tensor maps;
// each consumer warpgroup keeps the scores of 64 queries in registers, turns them into exponentials
// of the distance from the largest so far, and multiplies these by the values; what it has summed
// before is scaled when a larger score comes. Exponentials enter the product as PLANES numbers of
// 16 bits that add up to them, since the contract grants no rounding of what the kernel computes on
// its way.
//
// A block takes several tiles of queries where there are more than blocks (WAVES). OVERLAP: scores
// of the next tile are multiplied beside the values of this one, and beside these the exponentials
// of the next are taken. TURNS: warpgroups issue their products one after the other, so that one
// computes exponentials while others multiply.
//
// Wants: KEYS, PLANES, WIDTH, BLOCK_N, CONSUMERS, STAGES, OVERLAP, TURNS, WAVES, MIN_BLOCKS; SKIP:
// tiles of keys that nobody of a block sees are left out; vector.cuh, pairs.cuh, async_copy.cuh,
// barrier.cuh, ring.cuh, tma.cuh, wgmma.cuh, scores.cuh, exponentials.cuh.
using T = T_q;
constexpr int GROUP = 128, THREADS = GROUP * (CONSUMERS + 1);  // threads of a warpgroup, of a block
constexpr int BLOCK_M = 64 * CONSUMERS;
constexpr int LINE = 128;                                              // bytes of a swizzled row
constexpr int SLABS = (WIDTH + 63) / 64, SPANS = (BLOCK_N + 63) / 64;  // lines of a key, of a value
constexpr int SLAB_BYTES = KEYS * LINE, PART_BYTES = 64 * LINE;
constexpr int Q_SLAB_BYTES = BLOCK_M * LINE, Q_BYTES = SLABS * Q_SLAB_BYTES;
constexpr int K_BYTES = SLABS * SLAB_BYTES, V_BYTES = SPANS * SLAB_BYTES;
constexpr int STAGE_BYTES = K_BYTES > V_BYTES ? K_BYTES : V_BYTES;
// A block starts with registers shared evenly; the producer gives most of its own away.
constexpr bool REALLOCATE = CONSUMERS > 1 || MIN_BLOCKS > 1;
constexpr int PRODUCER_REGISTERS = CONSUMERS == 3 ? 32 : 24;
constexpr int CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : CONSUMERS == 2 ? 240 : 232;
// A block takes the tiles of queries that see the most and the fewest keys together.
constexpr bool PAIRED = SKIP != 0 && WAVES != 0;

struct Memory {
  unsigned base;
  __device__ __forceinline__ unsigned queries(int warpgroup) const {
    return base + warpgroup * PART_BYTES;
  }
  __device__ __forceinline__ unsigned stage(int number) const {
    return base + Q_BYTES + number * STAGE_BYTES;
  }
  __device__ __forceinline__ unsigned queries_full() const { return stage(STAGES); }
  __device__ __forceinline__ unsigned queries_empty() const { return queries_full() + 8; }
  __device__ __forceinline__ unsigned full(int number) const {
    return queries_full() + 16 + number * 16;
  }
  __device__ __forceinline__ unsigned empty(int number) const { return full(number) + 8; }
};
// A word: a result is not finite.
constexpr int FOUND_AT = Q_BYTES + STAGES * (STAGE_BYTES + 16) + 16;

__device__ __forceinline__ void prepare(const Memory& memory, int* found) {
  if (threadIdx.x == 0) {
    *found = 0;
    init_barrier(memory.queries_full(), 1);
    init_barrier(memory.queries_empty(), CONSUMERS * 4);
    for (int stage = 0; stage < STAGES; ++stage) {
      init_barrier(memory.full(stage), 1);
      init_barrier(memory.empty(stage), CONSUMERS * 4);
    }
    publish_barriers();
  }
  __syncthreads();
}

struct Sizes {
  int batches, queries, keys, out;
};

// A tile of queries and columns of y, and the tiles of keys that it meets.
struct Item {
  int batch, top, left, tiles;
};

// The items of a block, in the order of all its warps.
struct Walk {
  Sizes sizes;
  int across, down, units, unit;
  bool light = false;  // the shorter of a pair is next

  __device__ __forceinline__ explicit Walk(const Sizes& of) : sizes(of) {
    across = (sizes.out + BLOCK_N - 1) / BLOCK_N;
    down = (sizes.queries + BLOCK_M - 1) / BLOCK_M;
    units = sizes.batches * across * (PAIRED ? (down + 1) / 2 : down);
    unit = static_cast<int>(blockIdx.x);
  }
  __device__ __forceinline__ bool more() const { return unit < units; }
  __device__ __forceinline__ Item next() {
    const int rows = PAIRED ? (down + 1) / 2 : down, place = unit / across;
    int row = place % rows;
    // The queries that see most come first, so that no long block begins last.
    if (SKIP != 0 && !light) row = down - 1 - row;
    const int top = row * BLOCK_M, tiles = (sizes.keys + KEYS - 1) / KEYS;
    const Item item = {place / rows, top, unit % across * BLOCK_N,
                       SKIP != 0 ? min(tiles, (top + BLOCK_M + KEYS - 1) / KEYS) : tiles};
    if (PAIRED && !light && row != down - 1 - row) {
      light = true;
    } else {
      light = false;
      unit += static_cast<int>(gridDim.x);
    }
    return item;
  }
};

// The producer: one thread. Fills the ring in the order in which consumers drain it.
struct Producer {
  Memory memory;
  const TensorMap *map_q, *map_k, *map_v;
  Ring<STAGES> ring;
  Ring<1> queries;

  __device__ __forceinline__ unsigned begin(int bytes) {
    wait_barrier(memory.empty(ring.stage), ring.parity ^ 1);
    arrive_expecting(memory.full(ring.stage), bytes);
    return memory.stage(ring.stage);
  }
  __device__ __forceinline__ void bring_queries(const Item& item) {
    wait_barrier(memory.queries_empty(), queries.parity ^ 1);
    queries.advance();
    arrive_expecting(memory.queries_full(), Q_BYTES);
#pragma unroll 1
    for (int slab = 0; slab < SLABS; ++slab)
      load_tile(memory.queries(0) + slab * Q_SLAB_BYTES, *map_q, memory.queries_full(), slab * 64,
                item.top, item.batch);
  }
  __device__ __forceinline__ void bring_keys(const Item& item, int tile) {
    const unsigned to = begin(K_BYTES);
#pragma unroll 1
    for (int slab = 0; slab < SLABS; ++slab)
      load_tile(to + slab * SLAB_BYTES, *map_k, memory.full(ring.stage), slab * 64, tile * KEYS,
                item.batch);
    ring.advance();
  }
  __device__ __forceinline__ void bring_values(const Item& item, int tile) {
    const unsigned to = begin(V_BYTES);
#pragma unroll 1
    for (int span = 0; span < SPANS; ++span)
      load_tile(to + span * SLAB_BYTES, *map_v, memory.full(ring.stage), item.left + span * 64,
                tile * KEYS, item.batch);
    ring.advance();
  }
  __device__ __forceinline__ void produce(Walk walk) {
#pragma unroll 1
    while (walk.more()) {
      const Item item = walk.next();
      bring_queries(item);
#pragma unroll 1
      for (int tile = 0; tile < item.tiles; ++tile) {
        bring_keys(item, tile);
        if (tile >= OVERLAP) bring_values(item, tile - OVERLAP);
      }
      if (OVERLAP != 0) bring_values(item, item.tiles - 1);
    }
  }
};

// The batch's values that are not finite, as the launch `look` found them: for each LOOK keys
// whether there are any, and then of each column the number of the last one's key, from 1 on.
constexpr int LOOK = 64;
struct Broken {
  const int *any, *last;
  int parts, out;

  __device__ __forceinline__ bool look(int lane) const {
    bool found = false;
#pragma unroll 1
    for (int part = lane; part < parts; part += 32) found |= any[part] != 0;
    return __any_sync(0xffffffffu, found);
  }
  // Tells whether a query that sees `seen` keys has such a value behind them.
  __device__ __forceinline__ bool behind(int seen, int column) const {
    bool found = false;
#pragma unroll 1
    for (int part = seen / LOOK; part < parts; ++part)
      found |= any[part] != 0 && last[static_cast<long long>(part) * out + column] > seen;
    return found;
  }
};

// A consumer warpgroup. Sum 4 j + r of a lane is of row lane / 4 + 8 (r / 2) of its warp's sixteen
// and of key or column 8 j + 2 (lane % 4) + r % 2.
struct Consumer {
  Memory memory;
  Scores made;
  Sizes sizes;
  int index, warp, lane;  // among consumers, of the warpgroup, of the warp
  Ring<STAGES> ring;
  Ring<1> full_queries;
  Item item;
  float factor, lift, keep;  // of scores; of exponentials; of a plane in what the next one gets
  float scores[KEYS / 2], sums[BLOCK_N / 2];
  unsigned planes[PLANES][KEYS / 16][4];
  float largest[2], total[2], fade[2];  // of the scores; of the lane's exponentials

  __device__ __forceinline__ Consumer(const Memory& shared, const Scores& of, const Sizes& all,
                                      int consumer)
      : memory(shared), made(of), sizes(all), index(consumer) {
    warp = static_cast<int>(threadIdx.x) / 32 % 4;
    lane = static_cast<int>(threadIdx.x) % 32;
    factor = LOG2_E * (Scores::BY_FACTOR ? made.factor : 1.0f);
  }
  // All planes of a second walk are the first one's, of smaller exponentials, so that no infinity
  // among the values meets a remainder of zero.
  __device__ __forceinline__ void begin_walk(bool again) {
    lift = static_cast<float>(LIFT_BITS<T> - (again ? PLANES - 1 : 0));
    keep = again ? 0.0f : -1.0f;
  }
  __device__ __forceinline__ int row() const {
    return item.top + index * 64 + warp * 16 + lane / 4;
  }
  __device__ __forceinline__ void release(unsigned barrier) const {
    if (lane == 0) arrive(barrier);
  }
  // The next part of the ring once it has landed.
  __device__ __forceinline__ int next() {
    const int stage = ring.stage;
    wait_barrier(memory.full(stage), ring.parity);
    ring.advance();
    return stage;
  }

  // Starts scores of the tile of keys in a stage.
  __device__ __forceinline__ void start_scores(int stage) {
    settle(scores);
    multiply_fence();
    const unsigned long long q = tile_descriptor(memory.queries(index), 0),
                             k = tile_descriptor(memory.stage(stage), 0);
#pragma unroll
    for (int step = 0; step < WIDTH / 16; ++step)
      Wgmma<KEYS>::template multiply<T, 0, 0>(
          scores, q + (step / 4 * Q_SLAB_BYTES + step % 4 * 32) / 16,
          k + (step / 4 * SLAB_BYTES + step % 4 * 32) / 16, step);
    multiply_commit();
  }
  // Starts to add the exponentials times the tile of values in a stage.
  __device__ __forceinline__ void start_values(int stage) {
    settle(sums);
#pragma unroll
    for (int i = 0; i < PLANES * KEYS / 4; ++i)
      asm volatile("" : "+r"((&planes[0][0][0])[i])::"memory");
    multiply_fence();
    const unsigned long long v = tile_descriptor(memory.stage(stage), SLAB_BYTES);
#pragma unroll
    for (int plane = PLANES - 1; plane >= 0; --plane) {
#pragma unroll
      for (int step = 0; step < KEYS / 16; ++step)
        Wgmma<BLOCK_N>::template multiply_turned<T>(sums, planes[plane][step],
                                                    v + step * 16 * LINE / 16);
    }
    multiply_commit();
  }
  // Makes scores of sums that no factor alone turns into them. Rows past the queries get the last
  // one's.
  __device__ __forceinline__ void make_scores(int first_key) {
    const long long first_row = static_cast<long long>(item.batch) * sizes.queries;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long query = first_row + min(row() + half * 8, sizes.queries - 1);
#pragma unroll
      for (int i = 0; i < KEYS / 4; ++i) {
        float& score = scores[i / 2 * 4 + half * 2 + i % 2];
        const int key = first_key + i / 2 * 8 + lane % 4 * 2 + i % 2;
        score = made.of(query, min(key, sizes.keys - 1), sizes.keys, score);
      }
    }
  }
  // Takes keys that a query does not see, or that do not exist, out.
  __device__ __forceinline__ void mask(int first_key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int first = first_key + lane % 4 * 2, query = row() + half * 8;
      const int end = (CAUSAL != 0 ? min(query + 1, sizes.keys) : sizes.keys) - first;
#pragma unroll
      for (int i = 0; i < KEYS / 4; ++i) {
        if (i / 2 * 8 + i % 2 >= end) scores[i / 2 * 4 + half * 2 + i % 2] = minus_infinity();
      }
    }
  }
  // Turns scores of a tile into exponentials; `fade` is what earlier ones are scaled by. The
  // distance is taken before the factor, so that it is zero at the largest score however large
  // that is.
  __device__ __forceinline__ void weigh(int tile) {
    const int first_key = tile * KEYS, end = first_key + KEYS;
    if constexpr (!Scores::BY_FACTOR) make_scores(first_key);
    if (end > sizes.keys || (CAUSAL != 0 && end > item.top + index * 64 + warp * 16))
      mask(first_key);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = largest[half], part[4];  // parts, so that no long chain is waited for
#pragma unroll
      for (int i = 0; i < 4; ++i) part[i] = most;
#pragma unroll
      for (int i = 0; i < KEYS / 4; ++i)
        part[i % 4] = fmaxf(part[i % 4], scores[i / 2 * 4 + half * 2 + i % 2]);
      most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float base = most == minus_infinity() ? 0.0f : most;
      fade[half] = power_of_two((largest[half] - base) * factor);
      largest[half] = most;
#pragma unroll
      for (int i = 0; i < 4; ++i) part[i] = 0.0f;
#pragma unroll
      for (int i = 0; i < KEYS / 4; ++i) {
        float& one = scores[i / 2 * 4 + half * 2 + i % 2];
        one = power_of_two(fmaf(one - base, factor, lift));
        part[i % 4] += one;
      }
      total[half] = total[half] * fade[half] + (part[0] + part[1] + (part[2] + part[3]));
    }
  }
  // Exponentials as fragments of sixteen keys, one for each plane.
  __device__ __forceinline__ void split() {
#pragma unroll
    for (int i = 0; i < KEYS / 4; ++i) {
      float low = scores[i * 2], high = scores[i * 2 + 1];
#pragma unroll
      for (int plane = 0; plane < PLANES; ++plane) {
        const unsigned pair = pack_pair<T>(low, high);
        planes[plane][i / 4][i % 4] = pair;
        low = fmaf(keep, to_float(T{static_cast<unsigned short>(pair)}), low);
        high = fmaf(keep, to_float(T{static_cast<unsigned short>(pair >> 16)}), high);
      }
    }
  }
  __device__ __forceinline__ void scale() {
#pragma unroll
    for (int i = 0; i < BLOCK_N / 2; ++i) sums[i] *= fade[i / 2 % 2];
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < BLOCK_N / 2; ++i) sums[i] = 0.0f;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      largest[half] = minus_infinity();
      total[half] = 0.0f;
    }
  }

  // Turns: named barriers from 1 on, each completed by who waits and who passes.
  __device__ __forceinline__ void wait_turn() const {
    if constexpr (TURNS != 0) named_wait(1 + index, 2 * GROUP);
  }
  __device__ __forceinline__ void pass_turn(int to) const {
    if constexpr (TURNS != 0) named_pass(1 + to, 2 * GROUP);
  }
  // Waits for scores, whose stage is free then.
  __device__ __forceinline__ void take_scores(int stage, bool last) {
    settle(scores);
    release(memory.empty(stage));
    if (last) release(memory.queries_empty());
  }

  // Scores of a tile alone, before any values.
  __device__ __forceinline__ void multiply_alone(int tile) {
    const int stage = next();
    start_scores(stage);
    multiply_wait<0>();
    take_scores(stage, tile + 1 == item.tiles);
    weigh(tile);
  }
  // Adds values of a tile alone.
  __device__ __forceinline__ void add_alone() {
    const int stage = next();
    start_values(stage);
    multiply_wait<0>();
    settle(sums);
    release(memory.empty(stage));
  }
  // Scores of a tile beside the values of the one before.
  __device__ __forceinline__ void multiply_both(int tile) {
    const int keys = next();
    wait_turn();
    start_scores(keys);
    const int values = next();
    start_values(values);
    if (index + 1 < CONSUMERS || tile + 1 < item.tiles) pass_turn((index + 1) % CONSUMERS);
    multiply_wait<1>();
    take_scores(keys, tile + 1 == item.tiles);
    weigh(tile);
    multiply_wait<0>();
    settle(sums);
    release(memory.empty(values));
  }
  // Sums an item.
  __device__ __forceinline__ void multiply(const Item& of) {
    item = of;
    clear();
    wait_barrier(memory.queries_full(), full_queries.parity);
    full_queries.advance();
    if constexpr (OVERLAP != 0) {
      if (index + 1 == CONSUMERS && item.tiles > 1) pass_turn(0);
      multiply_alone(0);
      split();
#pragma unroll 1
      for (int tile = 1; tile < item.tiles; ++tile) {
        multiply_both(tile);
        scale();
        split();
      }
      add_alone();
    } else {
#pragma unroll 1
      for (int tile = 0; tile < item.tiles; ++tile) {
        multiply_alone(tile);
        scale();
        split();
        add_alone();
      }
    }
  }

  // Stores results, of a second walk (`again`) those alone that are not finite, and tells whether
  // there are such.
  __device__ __forceinline__ bool store(T* y, const Broken& broken, bool again) const {
    bool found = false;
    const bool look = SKIP != 0 && broken.look(lane);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float all = total[half];
      all += __shfl_xor_sync(0xffffffffu, all, 1);
      all += __shfl_xor_sync(0xffffffffu, all, 2);
      const float share = 1.0f / all;
      const int query = row() + half * 8;
      if (query >= sizes.queries) continue;
      T* to = y + (static_cast<long long>(item.batch) * sizes.queries + query) * sizes.out;
#pragma unroll
      for (int j = 0; j < BLOCK_N / 8; ++j) {
        const int column = item.left + j * 8 + lane % 4 * 2;
        if (column >= sizes.out) continue;
        const float first = sums[j * 4 + half * 2] * share,
                    second = sums[j * 4 + half * 2 + 1] * share;
        const bool one = is_finite(first), two = is_finite(second);
        found |= !one || !two;
        if (!again) {
          *reinterpret_cast<unsigned*>(to + column) = pack_pair<T>(first, second);
        } else {
          if (!one) to[column] = from_float<T>(first);
          if (!two) to[column + 1] = from_float<T>(second);
        }
      }
      if (look) mark(to, query, broken);
    }
    return found;
  }
  // Zero times what is not finite among the values of keys that a query does not see.
  __device__ __forceinline__ void mark(T* to, int query, const Broken& broken) const {
#pragma unroll 1
    for (int i = 0; i < BLOCK_N / 4; ++i) {
      const int column = item.left + i / 2 * 8 + lane % 4 * 2 + i % 2;
      if (column < sizes.out && broken.behind(query + 1, column))
        to[column] = from_float<T>(__uint_as_float(0x7fffffffu));
    }
  }
};

// All that a consumer does in a walk; tells whether a result is not finite.
__device__ __forceinline__ bool consume(Consumer& consumer, Walk walk, T* y, const int* any,
                                        const int* last, bool again) {
  bool found = false;
  consumer.begin_walk(again);
  const int parts = (walk.sizes.keys + LOOK - 1) / LOOK;
#pragma unroll 1
  while (walk.more()) {
    const Item item = walk.next();
    consumer.multiply(item);
    const long long first = static_cast<long long>(item.batch) * parts;
    found |= consumer.store(y, {any + first, last + first * walk.sizes.out, parts, walk.sizes.out},
                            again);
  }
  return found;
}

// Tells all threads, once all have come, whether any found something. Roles come from different
// places.
__device__ __forceinline__ bool any_found(int* found, bool mine) {
  if (mine) atomicOr(found, 1);
  named_wait(1 + CONSUMERS, THREADS);
  return *found != 0;
}

// All that a block does. A second walk by the first plane tells infinities of V from what is none.
__device__ __forceinline__ void attend(unsigned char* shared, const TensorMap& map_q,
                                       const TensorMap& map_k, const TensorMap& map_v,
                                       const Scores& made, T* y, const int* any, const int* last,
                                       const Sizes& sizes) {
  const Memory memory = {shared_address(shared)};
  const Walk walk(sizes);
  int* found = reinterpret_cast<int*>(shared + FOUND_AT);
  prepare(memory, found);
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / GROUP, 0);
  bool again = false;
  if (warpgroup == CONSUMERS) {
    if constexpr (REALLOCATE) take_registers<PRODUCER_REGISTERS, false>();
    Producer producer = {memory, &map_q, &map_k, &map_v};
#pragma unroll 1
    do {
      if (threadIdx.x % GROUP == 0) producer.produce(walk);
      __syncwarp();
      again = !again && any_found(found, false);
    } while (again);
  } else {
    if constexpr (REALLOCATE) take_registers<CONSUMER_REGISTERS, true>();
    Consumer consumer(memory, made, sizes, warpgroup);
#pragma unroll 1
    do {
      const bool mine = consume(consumer, walk, y, any, last, again);
      again = !again && any_found(found, mine);
    } while (again);
  }
}
