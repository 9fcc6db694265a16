// A consumer warpgroup of templates/gemm_wgmma_split.cu: sums the products of the planes of its rows with those of the block's
// columns, slab by slab, and stores them.
// Wants: TILE_M, TILE_N, CONSUMERS, STAGES, STRIPS, FUSED, PLANES, SWAPPED, T_D and what gemm_wgmma_split.cu makes of them: the
// slabs and their sides, Memory.
struct Consumer {
  Memory memory;
  int index;       // among consumers
  int warp, lane;  // of the warpgroup, of the warp
  Ring<STAGES> ring;
  unsigned release_to;                // the first `empty` that this lane arrives at; lanes from FILLERS on arrive nowhere
  unsigned strip = 0;                 // the one to fill next
  float raw[PARTS][STEPS][4];         // where FUSED: the next slab's rows,
  Fragments<STEPS> fragments[PARTS];  // and this one's planes
  float sum[PARTS][TILE_N / 2];       // of the slab
  float total[PARTS][TILE_N / 2];

  __device__ __forceinline__ Consumer(const Memory& shared, const Place& place, int consumer) : memory(shared), index(consumer) {
    warp = static_cast<int>(threadIdx.x) / 32 % 4;
    lane = static_cast<int>(threadIdx.x) % 32;
    release_to = memory.empty(0);
    if constexpr (CLUSTER > 1) release_to = address_in(release_to, place.filler(lane < Place::FILLERS ? lane : 0));
  }

  __device__ __forceinline__ void release(int stage) const {
    if constexpr (CLUSTER > 1) {
      if (lane < Place::FILLERS) arrive_remote(release_to + stage * 16);
    } else {
      if (lane == 0) arrive(release_to + stage * 16);
    }
  }

  // Waits for the next slab and, where FUSED, reads its rows.
  __device__ __forceinline__ void load() {
    wait_barrier(memory.full(ring.stage), ring.parity);
    if constexpr (FUSED != 0) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        RawRows::load(raw[part], memory.rows(ring.stage), (index * PARTS + part) * 64, warp, lane);
      }
    }
  }

  // One product of planes, 32 bytes of K deep; the first of a slab does not look at the sums.
  __device__ __forceinline__ void multiply_planes(int of_rows, int of_columns, int step, bool first) {
    const unsigned long long columns =
        tile_descriptor(memory.columns(ring.stage), 0) + (of_columns * ColumnSlab::One::BYTES + step * 32) / 16;
    const unsigned long long rows = tile_descriptor(memory.rows(ring.stage) + index * PARTS * PART_BYTES, 0) +
                                    (of_rows * RowPlanes::One::BYTES + step * 32) / 16;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      if constexpr (FUSED == 0) {
        Wgmma<TILE_N>::template multiply<Plane, 0, 0>(sum[part], rows + part * PART_BYTES / 16, columns, !first);
      } else if (first) {
        Wgmma<TILE_N>::template multiply_tf32<false>(sum[part], fragments[part].plane[of_rows][step], columns);
      } else {
        Wgmma<TILE_N>::template multiply_tf32<true>(sum[part], fragments[part].plane[of_rows][step], columns);
      }
    }
  }
  // The products of a slab, those of the smallest planes first. Planes whose numbers add up to PLANES or more are left out:
  // their products are below what fp32 keeps.
  __device__ __forceinline__ void multiply_slab() {
    if constexpr (FUSED != 0) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) fragments[part].split(raw[part]);
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
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) total[part][i] = 0.0f;
    }
  }
  __device__ __forceinline__ void flush() {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      settle(sum[part]);
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) total[part][i] += sum[part][i];
    }
  }

  // Sums the products of `slabs` slabs into the totals. While one consumer flushes, the tensor cores have those of another.
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

  // Adds the parts of a tile that several blocks summed; false when another block will have the whole sum.
  __device__ __forceinline__ bool reduce(const Work& work, int slots, int rank, float* parts, unsigned* arrived, bool* last) {
    constexpr int EACH = TILE_M * TILE_N / GROUP;
    const int who = rank * CONSUMERS + index;
    float(&flat)[EACH] = reinterpret_cast<float(&)[EACH]>(total);
    const long long at = static_cast<long long>(who) * slots + work.slot;
    return reduce_split<GROUP>(flat, parts + at * TILE_M * TILE_N, arrived + work.number * CLUSTER * CONSUMERS + who, work.part,
                               work.parts, warp * 32 + lane, last + index, [&] { named_wait(1 + index, GROUP); });
  }

  // Stores the totals as they lie in registers: two neighbours of a row a thread; swapped, of a column.
  __device__ __forceinline__ void store_direct(const Epilogue& epilogue, int row, int column) const {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int j = 0; j < TILE_N / 8; ++j) {
        const float* s = total[part] + 4 * j;
        const int r = row + part * 64 + warp * 16 + lane / 4, c = column + j * 8 + lane % 4 * 2;
        if constexpr (SWAPPED) {
#pragma unroll
          for (int i = 0; i < 4; ++i) epilogue.store(c + i % 2, r + i / 2 * 8, {s[i]});
        } else {
          epilogue.store(r, c, {s[0], s[1]});
          epilogue.store(r + 8, c, {s[2], s[3]});
        }
      }
    }
  }

  // Passes 16 rows by 128 bytes at a time through a strip of the warp's own, from which the copy engine takes them.
  __device__ __forceinline__ void store_tiles(const Epilogue& epilogue, const TensorMap& map, int batch, int row, int column) {
    constexpr int COLUMNS = LINE / static_cast<int>(sizeof(T_D));  // of a strip
#pragma unroll
    for (int piece = 0; piece < PARTS * TILE_N / COLUMNS; ++piece) {
      const int part = piece / (TILE_N / COLUMNS), first = piece % (TILE_N / COLUMNS) * COLUMNS;
      const int top = row + part * 64 + warp * 16, left = column + first;
      const unsigned to = memory.strips(index * 4 + warp) + strip * STRIP_BYTES;
      strip = strip + 1 == STRIPS ? 0 : strip + 1;
      wait_stores_read<STRIPS - 1>();  // the copy that used this strip before has read it
      __syncwarp();
      fill_strip<T_D>(epilogue, to, total[part] + first / 2, top, left, lane);
      fence_for_copies();
      __syncwarp();
      if (lane == 0) {
        store_tile(map, to, left * (static_cast<int>(sizeof(T_D)) / 2), top, batch);
        commit_stores();
      }
    }
  }
};
