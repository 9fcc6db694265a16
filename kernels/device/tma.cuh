// Copies of tiles between global and shared memory by the tensor copy engine. A tensor map, made by
// the launch plan, holds address, sides, pitches and the tile's box; one thread names the tile's
// first element, innermost coordinate first. What lies outside the tensor is read as zero and never
// written.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

// Brings the map's 128 bytes near before the first copy needs them.
__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Global to shared. The bytes are counted down on `barrier` as they land, those outside the tensor
// included.
__device__ __forceinline__ void load_tile(unsigned to, const TensorMap& map, unsigned barrier,
                                          int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}
// Copies a tile to the same place in every block of the cluster whose bit is set, counted on the
// barrier of each.
__device__ __forceinline__ void load_tile_multicast(unsigned to, const TensorMap& map,
                                                    unsigned barrier, int x, int y, int z,
                                                    unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster [%0], [%1, {%2, %3, %4}], "
      "[%5], %6;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks)
      : "memory");
}

// Between ordinary accesses to shared memory and copies of the same bytes, by the threads that made
// the accesses and before they tell the copying thread: after stores that a copy is to read, and
// after loads of what a copy is to replace. Without it an mbarrier's arrival does not wait for
// loads under way, and the copy overtakes them (seen on an H200).
__device__ __forceinline__ void fence_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Shared to global, in groups of the issuing thread.
// STREAM: L2 should rather give up these lines than others.
template <bool STREAM = false>
__device__ __forceinline__ void store_tile(const TensorMap& map, unsigned from, int x, int y,
                                           int z) {
  if constexpr (STREAM) {
    asm volatile(
        "{\n"
        ".reg .b64 policy;\n"
        "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2, %3}], "
        "[%4], policy;\n"
        "}" ::"l"(&map),
        "r"(x), "r"(y), "r"(z), "r"(from)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
            &map),
        "r"(x), "r"(y), "r"(z), "r"(from)
        : "memory");
  }
}
__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until at most NEWEST groups have still to read their shared memory.
template <int NEWEST>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(NEWEST) : "memory");
}

// Offset of a 16-byte unit of a row of 128 bytes in a tile with 128-byte swizzle: the unit's
// number exclusive-or the row's, so that neither 8 rows of one unit nor the 8 units of a row share
// banks. Tiles start at multiples of 1024 bytes.
__device__ __forceinline__ unsigned swizzled(int row, int unit) {
  return row * 128 + ((unit ^ row % 8) * 16);
}
