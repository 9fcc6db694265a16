// Split-K: several blocks each sum a part of K of one output tile. Each leaves its part in global
// memory; whichever comes last adds all parts in slot order, so that the result does not depend on
// the order of arrival.
//
// `parts`: split x COUNT x THREADS floats of this tile, thread-fastest (each thread reads back only
// its own column). `arrived`: this tile's counter, zero before; the last block leaves it zero
// again. `thread` is the caller's number among THREADS that share the tile, `everyone` their
// barrier, `last` their word of shared memory. Returns whether they hold the full sum in `sum` and
// must write the tile. All of them must call it.
template <int THREADS, int COUNT, class Wait>
__device__ __forceinline__ bool reduce_split(float (&sum)[COUNT], float* parts, unsigned* arrived,
                                             int slot, int split, int thread, bool* last,
                                             Wait everyone) {
  float* own = parts + static_cast<long long>(slot) * COUNT * THREADS + thread;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) own[i * THREADS] = sum[i];

  __threadfence();  // the part is visible before the arrival is
  everyone();
  if (thread == 0) {
    *last = atomicAdd(arrived, 1u) == static_cast<unsigned>(split - 1);
    if (*last) atomicExch(arrived, 0u);
  }
  everyone();
  if (!*last) return false;
  __threadfence();  // the other parts are read after their arrivals

#pragma unroll
  for (int i = 0; i < COUNT; ++i) sum[i] = 0.0f;
  constexpr int AT_ONCE = COUNT <= 8    ? 8
                          : COUNT <= 32 ? 2
                                        : 1;  // parts on their way, as far as registers go
#pragma unroll AT_ONCE
  for (int s = 0; s < split; ++s) {
    const float* part = parts + static_cast<long long>(s) * COUNT * THREADS + thread;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      float value;  // .cg: past L1, which other blocks' stores do not reach
      asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(part + i * THREADS) : "memory");
      sum[i] += value;
    }
  }
  return true;
}

// Reduces a tile that a whole block shares.
template <int THREADS, int COUNT>
__device__ __forceinline__ bool reduce_split(float (&sum)[COUNT], float* parts, unsigned* arrived,
                                             int slot, int split) {
  __shared__ bool last;
  return reduce_split<THREADS>(sum, parts, arrived, slot, split, static_cast<int>(threadIdx.x),
                               &last, [] { __syncthreads(); });
}
