// Who does what next, for blocks that stay and take one tile after another.

// Place in a ring of STAGES stages in shared memory, and the parity of its barriers' phase there: how often the ring has been
// walked, odd or even. Producers and consumers each keep one and pass every stage in the same order.
template <int STAGES>
struct Ring {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  // Past `count` stages that others fill or drain.
  __device__ __forceinline__ void skip(int count) {
    const int to = stage + count;
    parity ^= to / STAGES & 1;
    stage = to % STAGES;
  }
};

// One item of work of a cluster: a part of K of one tile of the output.
struct Work {
  int batch;
  Tile tile;  // in cluster tiles
  int part;
  int first_slab, slabs;
};

// All items, in an order that neighbours in time share operands in L2: the parts of a tile first, then tiles in raster order.
// Cluster c of `clusters` takes items c, c + clusters, ...
struct WorkList {
  int tiles_m, tiles_n;
  int slabs;   // along all of K
  int chunk;   // slabs of a part; the last part may have fewer
  int parts;   // of a tile: at least 1, none empty
  int batches;

  __device__ __forceinline__ int count() const { return batches * tiles_m * tiles_n * parts; }
  __device__ __forceinline__ Work at(int item, int group) const {
    const int tile = item / parts;
    const int tiles = tiles_m * tiles_n;
    Work work;
    work.part = item - tile * parts;
    work.batch = tile / tiles;
    work.tile = tile_at(tile - work.batch * tiles, tiles_m, tiles_n, group);
    work.first_slab = work.part * chunk;
    work.slabs = min(chunk, slabs - work.first_slab);
    return work;
  }
};

// Turns of two warpgroups, by a named barrier each: whoever is through lets the other pass. Both must take turns equally often,
// and nobody pass on a turn that is not taken.
template <int THREADS>
struct Turns {
  static constexpr int FIRST_NAME = 1;
  static __device__ __forceinline__ void wait(int group) { named_wait(FIRST_NAME + group, THREADS); }
  static __device__ __forceinline__ void pass_on(int group) { named_pass(FIRST_NAME + 1 - group, THREADS); }
};
