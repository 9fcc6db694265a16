// Deals work to blocks that stay and take one tile after another.
#include "cupilot/ring.cuh"
#include "cupilot/span.cuh"

// One item of work of a cluster: some of the slabs along K of one tile of the output.
struct Work {
  int batch;
  Tile tile;  // in cluster tiles
  int first_slab, slabs;
  int part, parts;  // this is number `part` of the `parts` that sum the tile
  int number;       // the tile's, counted as tiles are walked
  int slot;         // where the tile's parts begin, counted in parts
};

// All the work. Tiles are numbered in raster order. The first `streamed` of them (stream-K) are
// laid end to end, slab after slab, and dealt evenly to the clusters, so that all end together; the
// others come whole, or cut into equal parts (split-K). Clusters deal themselves the latter in
// turn, the parts of a tile first.
struct WorkList {
  int tiles_m, tiles_n;
  int slabs;  // along all of K
  int chunk;  // slabs of a part; the last part of a tile may have fewer
  int parts;  // of a tile that is not streamed: at least 1, none empty; 1 where any are streamed
  int batches;
  int clusters = 1;
  int streamed = 0;  // tiles
  Span span{};       // leaves out slabs of tiles that are not streamed

  __device__ __forceinline__ int tiles() const { return batches * tiles_m * tiles_n; }
  __device__ __forceinline__ int count() const { return tiles() * parts; }
  // Parts that the workspace has to hold: each slab range that a streamed tile or a cluster begins
  // is one more.
  __device__ __forceinline__ int slots() const {
    return streamed > 0 ? streamed + clusters : count();
  }

  // Streamed slabs: cluster c has those from first_of(c) to first_of(c + 1); `owner` is the
  // inverse.
  __device__ __forceinline__ int first_of(int cluster) const {
    const int all = streamed * slabs;
    return cluster * (all / clusters) + min(cluster, all % clusters);
  }
  __device__ __forceinline__ int owner(int slab) const {
    const int share = streamed * slabs / clusters;
    const int longer = streamed * slabs % clusters;  // clusters that have one slab more
    const int theirs = longer * (share + 1);
    return slab < theirs ? slab / (share + 1) : longer + (slab - theirs) / share;
  }

  // Slabs by which a piece of work may begin later than at its first, going on there after its
  // last: spread over all tiles, so that blocks that share an operand do not ask L2 for the same
  // lines at the same time.
  __device__ __forceinline__ int turn(const Work& work) const {
    return static_cast<int>(static_cast<long long>(work.number) * work.slabs / tiles());
  }

  // Sets the place of a tile in the output.
  template <bool CURVED>
  __device__ __forceinline__ void locate(Work& work, int group) const {
    work.batch = work.number / (tiles_m * tiles_n);
    const int index = work.number - work.batch * (tiles_m * tiles_n);
    work.tile = CURVED ? curved_tile_at(index, tiles_m, tiles_n, group)
                       : tile_at(index, tiles_m, tiles_n, group);
  }
  // One of those that are dealt in turn.
  template <bool CURVED = false>
  __device__ __forceinline__ Work at(int item, int group) const {
    Work work;
    if (span.kinds != 0) item = dealt_evenly(item);
    work.number = item / parts;
    work.part = item - work.number * parts;
    work.parts = parts;
    work.slot = work.number * parts;
    work.first_slab = work.part * chunk;
    work.slabs = min(chunk, slabs - work.first_slab);
    locate<CURVED>(work, group);
    if (span.kinds != 0) span.narrow(work.tile, work.first_slab, work.slabs);
    return work;
  }
  // Tiles of many slabs first, dealt forth in one turn and back in the next.
  __device__ __forceinline__ int dealt_evenly(int item) const {
    if (parts > 1 || streamed > 0) return item;
    const int turn = item / clusters;
    if (turn % 2 != 0 && (turn + 1) * clusters <= count())
      item = (2 * turn + 1) * clusters - 1 - item;
    return span.grows() ? count() - 1 - item : item;
  }
  // Returns the part of the streamed slabs from `slab` to `end`, the share of `cluster`, that
  // belongs to one tile.
  template <bool CURVED>
  __device__ __forceinline__ Work streamed_at(int slab, int end, int cluster, int group) const {
    Work work;
    work.number = slab / slabs;
    const int begin = work.number * slabs;
    work.first_slab = slab - begin;
    work.slabs = min(slabs - work.first_slab, end - slab);
    const int first = owner(begin);
    work.part = cluster - first;
    work.parts = owner(begin + slabs - 1) - first + 1;
    work.slot = work.number + first;  // one more for each tile and for each cluster before
    locate<CURVED>(work, group);
    return work;
  }
};

// A cluster's way through the list. Producer and consumers each walk it, in the same order.
template <bool CURVED, int GROUP_ROWS>
struct Walk {
  const WorkList& list;
  int cluster;
  int slab, end;  // of the streamed slabs: the next and the end of this cluster's share
  int item;       // the next part of those that are dealt in turn

  __device__ __forceinline__ Walk(const WorkList& all, int own)
      : list(all), cluster(own), slab(0), end(0), item(all.streamed + own) {
    if (all.streamed > 0) {
      slab = all.first_of(own);
      end = all.first_of(own + 1);
    }
  }
  __device__ __forceinline__ bool more() const { return slab < end || item < list.count(); }
  __device__ __forceinline__ Work next() {
    if (slab < end) {
      const Work work = list.streamed_at<CURVED>(slab, end, cluster, GROUP_ROWS);
      slab += work.slabs;
      return work;
    }
    const Work work = list.at<CURVED>(item, GROUP_ROWS);
    item += list.clusters;
    return work;
  }
};

// Turns of two warpgroups, by a named barrier each: the one that is through lets the other pass.
// Both must take turns equally often, and nobody pass on a turn that is not taken.
template <int THREADS>
struct Turns {
  static constexpr int FIRST_NAME = 1;
  static __device__ __forceinline__ void wait(int group) {
    named_wait(FIRST_NAME + group, THREADS);
  }
  static __device__ __forceinline__ void pass_on(int group) {
    named_pass(FIRST_NAME + 1 - group, THREADS);
  }
};
