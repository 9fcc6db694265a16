// A consumer warpgroup of templates/gemm_wgmma_split.cu: sums the products of the planes of its
// rows with those of the block's columns, slab by slab. Wants: TILE_N, FUSED, PLANES, SWAPPED;
// split_slab.cuh, ring_gemm.cuh, result_strips.cuh.
struct Consumer : Drainer {
  ResultStrips out;
  float raw[PARTS_M][STEPS][4];         // where FUSED: the next slab's rows,
  Fragments<STEPS> fragments[PARTS_M];  // and this one's planes
  float sum[PARTS_M][TILE_N / 2];       // of the slab
  float total[PARTS_M][TILE_N / 2];

  __device__ __forceinline__ Consumer(const Memory& shared, const Place& place, int consumer)
      : Drainer(shared, place, consumer) {
    out.strips = memory.strips(index * 4 + warp);
    out.lane = lane;
  }

  // Waits for the next slab and, where FUSED, reads its rows.
  __device__ __forceinline__ void load() {
    wait();
    if constexpr (FUSED != 0) {
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) {
        RawRows::load(raw[part], memory.rows(ring.stage), (index * PARTS_M + part) * 64, warp,
                      lane);
      }
    }
  }

  // One product of planes, 32 bytes of K deep; the first of a slab does not look at the sums.
  __device__ __forceinline__ void multiply_planes(int of_rows, int of_columns, int step,
                                                  bool first) {
    const unsigned long long columns = tile_descriptor(memory.columns(ring.stage), 0) +
                                       (of_columns * ColumnSlab::One::BYTES + step * 32) / 16;
    const unsigned long long rows =
        tile_descriptor(memory.rows(ring.stage) + index * PARTS_M * PART_BYTES, 0) +
        (of_rows * RowPlanes::One::BYTES + step * 32) / 16;
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
      if constexpr (FUSED == 0) {
        Wgmma<TILE_N>::template multiply<Plane, 0, 0>(sum[part], rows + part * PART_BYTES / 16,
                                                      columns, !first);
      } else if (first) {
        Wgmma<TILE_N>::template multiply_tf32<false>(sum[part],
                                                     fragments[part].plane[of_rows][step], columns);
      } else {
        Wgmma<TILE_N>::template multiply_tf32<true>(sum[part], fragments[part].plane[of_rows][step],
                                                    columns);
      }
    }
  }
  // The products of a slab, those of the smallest planes first. Planes whose numbers add up to
  // PLANES or more are left out: their products are below what fp32 keeps.
  __device__ __forceinline__ void multiply_slab() {
    if constexpr (FUSED != 0) {
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) fragments[part].split(raw[part]);
      fence_for_copies();  // the rows were read: copies may go over them once the stage is released
    }
    multiply_fence();
#pragma unroll
    for (int both = PLANES - 1; both >= 0; --both) {
#pragma unroll
      for (int of_rows = 0; of_rows <= both; ++of_rows) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
          multiply_planes(of_rows, both - of_rows, step, both == PLANES - 1 && of_rows + step == 0);
        }
      }
    }
    multiply_commit();
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) total[part][i] = 0.0f;
    }
  }
  __device__ __forceinline__ void flush() {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
      settle(sum[part]);
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) total[part][i] += sum[part][i];
    }
  }

  // Sums the products of `slabs` slabs into the totals. While one consumer flushes, the tensor
  // cores have those of another.
  __device__ __forceinline__ void multiply(int slabs) {
    clear();
    load();
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      multiply_slab();
      const int stage = ring.stage;
      ring.advance();
      if (FUSED != 0 && slab + 1 < slabs) load();  // beside the products
      multiply_wait<0>();
      if (FUSED != 0) __syncwarp();  // one lane's arrival speaks for what all have read
      release(stage);
      flush();
      if (FUSED == 0 && slab + 1 < slabs) load();
    }
  }

  // Stores the totals of a transposed product: two neighbours of a column a thread.
  __device__ __forceinline__ void store_swapped(const Epilogue& epilogue, int row,
                                                int column) const {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int j = 0; j < TILE_N / 8; ++j) {
        const int r = row + part * 64 + warp * 16 + lane / 4, c = column + j * 8 + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 4; ++i)
          epilogue.store(c + i % 2, r + i / 2 * 8, {total[part][4 * j + i]});
      }
    }
  }
};
