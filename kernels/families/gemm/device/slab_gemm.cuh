// The parts of a GEMM whose operands both lie along K, for templates that change the operands or
// the sums: consumers on the ring of ring_gemm.cuh. They are cooperative, and a tile is summed by
// one block.
//
// multiply(): the tensor core adds up all of K. multiply_promoted(): it adds up one slab (128 bytes
// of K), and ordinary fp32 additions the slabs: its own sums keep few bits, 13 after the point for
// 8-bit operands, and cut off the rest.
//
// Wants: T_A; wgmma.cuh, along_k.cuh, result_strips.cuh, ring_gemm.cuh.

// Factors of a slab's sums before they join the others: here none.
struct NoFactors {
  static constexpr bool ANY = false;
  __device__ __forceinline__ void take(int) {}
  __device__ __forceinline__ float of(int, int) const { return 1.0f; }
};

// A consumer warpgroup.
struct Consumer : Drainer {
  ResultStrips out;
  float sum[PARTS_M][TILE_N / 2];

  __device__ __forceinline__ Consumer(const Memory& shared, const Place& place, int consumer)
      : Drainer(shared, place, consumer) {
    out.strips = memory.strips(index * 4 + warp);
    out.lane = lane;
  }

  // Issues the products of the stage that is next, once it has landed; the first of them looks at
  // `into` only if told to `keep`.
  __device__ __forceinline__ void issue(float (&into)[PARTS_M][TILE_N / 2], bool keep) {
    wait();
    const unsigned long long a =
        RowSlab::descriptor(memory.rows(ring.stage) + index * PARTS_M * PART_BYTES);
    const unsigned long long b = ColumnSlab::descriptor(memory.columns(ring.stage));
    multiply_fence();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) {
        Wgmma<TILE_N>::template multiply<T_A, 0, 0>(
            into[part], a + (step * RowSlab::STEP_BYTES + part * PART_BYTES) / 16,
            b + step * ColumnSlab::STEP_BYTES / 16, keep || step > 0);
      }
    }
    multiply_commit();
  }

  // All of K in the tensor core. One group of products is always under way: a stage is released
  // when the next one's have been issued and its own are through.
  __device__ __forceinline__ void multiply(int slabs) {
    int previous = 0;
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      issue(sum, slab > 0);
      multiply_wait<1>();
      if (slab > 0) release(previous);
      previous = ring.stage;
      ring.advance();
    }
    multiply_wait<0>();
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) settle(sum[part]);
    release(previous);
  }

  // Slab by slab: the tensor core's sums start anew with each and are added up here. While this
  // warpgroup adds, the others multiply.
  template <class Factors>
  __device__ __forceinline__ void multiply_promoted(int slabs, Factors factors) {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) sum[part][i] = 0.0f;
    }
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
      float own[PARTS_M][TILE_N / 2];
      issue(own, false);
      factors.take(slab);
      multiply_wait<0>();
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) settle(own[part]);
      release(ring.stage);
      ring.advance();
#pragma unroll
      for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
        for (int i = 0; i < TILE_N / 2; ++i) {
          sum[part][i] = Factors::ANY
                             ? fmaf(factors.of(part, i / 2 % 2), own[part][i], sum[part][i])
                             : sum[part][i] + own[part][i];
        }
      }
    }
  }

  __device__ __forceinline__ void scale(float factor) {
#pragma unroll
    for (int part = 0; part < PARTS_M; ++part) {
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) sum[part][i] *= factor;
    }
  }

  // (row, column): where this warpgroup's part of the tile begins.
  __device__ __forceinline__ void store(const Epilogue& epilogue, const TensorMap& map, int batch,
                                        int row, int column) {
    if constexpr (STRIPS != 0) {
      out.store(epilogue, map, sum, batch, row + warp * 16, column);
    } else {
      store_direct(epilogue, sum, row, column, warp, lane);
    }
  }
};

__device__ __forceinline__ WorkList work_list(int m, int n, int k, int batches) {
  const int slabs = (k + BLOCK_K - 1) / BLOCK_K;
  return {(m + BLOCK_M * CLUSTER_M - 1) / (BLOCK_M * CLUSTER_M),
          (n + TILE_N * CLUSTER_N - 1) / (TILE_N * CLUSTER_N),
          slabs,
          slabs,
          1,
          BATCHED != 0 ? batches : 1,
          static_cast<int>(gridDim.x) / CLUSTER};
}

// All of a block: `one_tile(consumer, work, row, column)` is what a consumer does with its part of
// one tile.
template <class OneTile>
__device__ __forceinline__ void run_block(unsigned char* shared, const WorkList& list,
                                          const TensorMap& map_a, const TensorMap& map_b,
                                          OneTile one_tile) {
  const Memory memory{shared_address(shared)};
  const Place place;
  Route route(list, static_cast<int>(blockIdx.x) / CLUSTER);
  if (threadIdx.x == 0) {
    prefetch_map(map_a);
    prefetch_map(map_b);
  }
  prepare_barriers(memory);

  const int warpgroup = own_warpgroup();
  if (warpgroup == CONSUMERS) {
    produce(memory, place, route, map_a, map_b);
  } else {
    begin_consuming();
    Consumer consumer(memory, place, warpgroup);
#pragma unroll 1
    while (route.more()) {
      const Work work = route.next();
      one_tile(consumer, work, (work.tile.m * CLUSTER_M + place.m) * BLOCK_M + warpgroup * TILE_M,
               (work.tile.n * CLUSTER_N + place.n) * TILE_N);
    }
    end_consuming();
  }
  leave_cluster();
}
