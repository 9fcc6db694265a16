// A tile that several blocks sum (split-K and stream-K): who of them is last adds the parts.
// Wants: TILE_M, TILE_N, CONSUMERS; ring_gemm.cuh, split_k.cuh.

// Memory in which the parts of all tiles meet, and the share of one block.
struct Meeting {
  const WorkList& list;
  const Place& place;
  float* parts;       // of all tiles, slot after slot
  unsigned* arrived;  // a counter a tile, block of the cluster and consumer
  bool* last;         // in shared memory, one a consumer

  // `sum`: a consumer's sums of its piece of work. False when another block will have the whole
  // sum.
  template <int PARTS, int COUNT>
  __device__ __forceinline__ bool join(const Drainer& own, const Work& work,
                                       float (&sum)[PARTS][COUNT]) const {
    constexpr int EACH = PARTS * COUNT;
    const int who = Place::rank(place.m, place.n) * CONSUMERS + own.index;
    float(&flat)[EACH] = reinterpret_cast<float(&)[EACH]>(sum);
    const long long at = static_cast<long long>(who) * list.slots() + work.slot;
    return reduce_split<GROUP>(flat, parts + at * TILE_M * TILE_N,
                               arrived + work.number * CLUSTER * CONSUMERS + who, work.part,
                               work.parts, own.warp * 32 + own.lane, last + own.index,
                               [&] { named_wait(1 + own.index, GROUP); });
  }
};
