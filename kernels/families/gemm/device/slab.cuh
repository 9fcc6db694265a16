// One operand's slab in shared memory, as tensor maps fill it and wgmma reads it: OUTER rows of A
// or columns of B, by one line of 128 bytes along K. As stored its lines run along K (K_FAST: A
// plain, B transposed), one for each row or column; or along rows or columns, in blocks of 64, one
// line for each of K. SHARERS blocks of a cluster need it and copy a part of it each.
template <class T, int OUTER, bool K_FAST, int SHARERS>
struct Slab {
  static constexpr int LINE = 128;  // bytes: one swizzle span
  static constexpr int ELEMENT = static_cast<int>(sizeof(T));
  static constexpr int DEPTH = LINE / ELEMENT;  // elements of K
  static constexpr int BLOCK_BYTES = 64 * LINE;
  static constexpr int BLOCKS = (OUTER + 63) / 64;
  static constexpr int BYTES = K_FAST ? OUTER * LINE : BLOCKS * BLOCK_BYTES;
  static constexpr int SHARE =
      (K_FAST ? OUTER : 64) / SHARERS;  // lines this block copies, of each map box
  static constexpr int STEP_BYTES =
      K_FAST ? 32 : (32 / ELEMENT) * LINE;  // from one product's K to the next
  static constexpr int TURNED = K_FAST ? 0 : 1;

  // Copies this block's share of the slab at row or column `outer` and line `slab` of K, to all
  // blocks of `sharers`.
  static __device__ __forceinline__ void fill(unsigned to, const TensorMap& map, unsigned full,
                                              int outer, int slab, int batch, int share,
                                              unsigned short sharers) {
    const auto copy = [&](unsigned target, int x, int y) {
      if constexpr (SHARERS > 1) {
        load_tile_multicast(target, map, full, x, y, batch, sharers);
      } else {
        load_tile(target, map, full, x, y, batch);
      }
    };
    const int first = share * SHARE;
    if constexpr (K_FAST) {
      copy(to + first * LINE, slab * (LINE / 2), outer + first);  // maps count words of 2 bytes
    } else {
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block) {
        copy(to + block * BLOCK_BYTES + first * LINE, outer + block * 64, slab * DEPTH + first);
      }
    }
  }
  static __device__ __forceinline__ unsigned long long descriptor(unsigned slab) {
    return tile_descriptor(slab, BLOCK_BYTES);
  }
};
