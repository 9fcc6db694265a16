// A slab of a split operand in shared memory: all its planes, or the fp32 elements, which the warps
// that multiply split in registers.

// OUTER lines along K of each plane. SHARERS blocks of a cluster need them and copy a part each.
template <int OUTER, int SHARERS>
struct PlaneSlab {
  using One = Slab<Plane, OUTER, true, SHARERS>;
  static constexpr int BYTES = PLANES * One::BYTES;

  static __device__ __forceinline__ void fill(unsigned to, const TensorMap& map, unsigned full,
                                              int outer, int slab, int batch, int share,
                                              unsigned short sharers) {
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
      One::fill(to + plane * One::BYTES, map, full, outer, slab, batch * PLANES + plane, share,
                sharers);
    }
  }
};

// fp32 as stored, 32 of K deep: lines along K, one a row; or along the rows in blocks of 32, one
// line for each of K.
template <int OUTER, bool K_FAST, int SHARERS>
struct RawSlab {
  static constexpr int LINE = 128;
  static constexpr int BYTES = OUTER * LINE;
  static constexpr int BLOCKS = K_FAST ? 1 : OUTER / 32;
  static constexpr int SHARE =
      (K_FAST ? OUTER : 32) / SHARERS;  // lines this block copies, of each map box
  static constexpr int STEPS = 4;       // products along K, 8 deep each

  static __device__ __forceinline__ void fill(unsigned to, const TensorMap& map, unsigned full,
                                              int outer, int slab, int batch, int share,
                                              unsigned short sharers) {
    const int first = share * SHARE;
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) {
      const unsigned target = to + (block * 32 + first) * LINE;
      const int x = K_FAST ? slab * 64 : (outer + block * 32) * 2;  // maps count words of 2 bytes
      const int y = K_FAST ? outer + first : slab * 32 + first;
      if constexpr (SHARERS > 1) {
        load_tile_multicast(target, map, full, x, y, batch, sharers);
      } else {
        load_tile(target, map, full, x, y, batch);
      }
    }
  }

  // Loads a lane's fragments of the 64 rows from `top` on; neither layout makes lanes wait for
  // each other's banks but in pairs.
  static __device__ __forceinline__ void load(float (&raw)[STEPS][4], unsigned slab, int top,
                                              int warp, int lane) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = top + warp * 16 + lane / 4 + i % 2 * 8, k = step * 8 + lane % 4 + i / 2 * 4;
        const unsigned from =
            K_FAST ? swizzled(row, k / 4) + k % 4 * 4
                   : row / 32 * (32 * LINE) + swizzled(k, row % 32 / 4) + row % 4 * 4;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(raw[step][i]) : "r"(slab + from) : "memory");
      }
    }
  }
};

// Operands of a slab's products in registers, of 64 rows: for each plane and step four words, in
// the layout of mma.cuh's A with 16 rows to each warp. `raw` is what memory held.
template <int STEPS>
struct Fragments {
  unsigned plane[PLANES][STEPS][4];

  __device__ __forceinline__ void split(const float (&raw)[STEPS][4]) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float rest = raw[step][i];
#pragma unroll
        for (int p = 0; p < PLANES; ++p) {
          const float near = nearest_in_plane(rest);
          plane[p][step][i] = __float_as_uint(near);
          rest -= near;
        }
      }
    }
  }
};
