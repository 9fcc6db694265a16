// The walk over K of gemm_simt and gemm_mma, whose every thread both fills and drains. A ring of
// STAGES slabs in shared memory is filled while earlier slabs are multiplied, in STEPS steps a
// slab. Wants: STAGES, FRAGMENTS, PREFETCH.
//
// Source moves slabs:   start(slab, stage) starts copies that pass no register; fetch(slab) and
// put(stage) are the two
//                       halves of the register route; STAGE_BYTES is one slab's size.
// Math multiplies them: Fragments are one step's operands; load(fragments, stage, step),
// multiply(fragments), and
//                       advance(next, stage, step, now), which does both and may mix them.
//
// The life of a stage:  filled    by every thread's start() (cp.async) or put() (ordinary stores)
//                       drained   by load() into fragments, after wait_copies and the block barrier
//                       behind it released  by the first block barrier after its last load(); there
//                       is no mbarrier
//
// Both loops keep two rules. A slab is read only after its own thread's copies were waited for
// *and* a block barrier made everybody's visible. A stage is filled again only after a barrier that
// follows its last read.

// Multiplies one slab. With FRAGMENTS the operands of the next step are read while this one is
// multiplied.
template <int STEPS, int UNROLL, class Math>
__device__ __forceinline__ void multiply_slab(Math& math, const unsigned char* stage) {
  constexpr int SETS = FRAGMENTS != 0 && STEPS > 1 ? 2 : 1;
  typename Math::Fragments set[SETS];
  if constexpr (SETS == 2) math.load(set[0], stage, 0);
#pragma unroll 1
  for (int base = 0; base < STEPS; base += UNROLL) {
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) {
      const int step = base + i;
      if constexpr (SETS == 1) {
        math.load(set[0], stage, step);
        math.multiply(set[0]);
      } else if (step + 1 < STEPS) {
        math.advance(set[(i + 1) % 2], stage, step + 1, set[i % 2]);
      } else {
        math.multiply(set[i % 2]);
      }
    }
  }
}

// While slab s is multiplied, slab s + AHEAD is on its way into the stage that slab s - 1 has left.
// With one stage only it is filled between two barriers, after slab s was multiplied.
template <int STEPS, int UNROLL, class Source, class Math>
__device__ __forceinline__ void simple_loop(Source& source, Math& math, unsigned char* ring,
                                            int slabs) {
  constexpr int AHEAD = STAGES > 1 ? STAGES - 1 : 1;
  int reading = 0;
  int filling = STAGES > 1 ? STAGES - 1 : 0;
#pragma unroll 1
  for (int s = 0; s < slabs; ++s) {
    wait_copies<AHEAD - 1>();  // slab s has landed
    __syncthreads();           // everyone's part of it; and everyone has left slab s - 1
    const int next = s + AHEAD;
    unsigned char* target = ring + filling * Source::STAGE_BYTES;
    if constexpr (STAGES > 1) {
      if (next < slabs) source.start(next, target);
      commit_copies();
    }
    if constexpr (PREFETCH != 0) {
      if (next < slabs) source.fetch(next);
    }
    multiply_slab<STEPS, UNROLL>(math, ring + reading * Source::STAGE_BYTES);
    if constexpr (STAGES == 1) {
      __syncthreads();  // the only stage is free again
      if (next < slabs) source.start(next, target);
      commit_copies();
    }
    if (next < slabs) {
      if constexpr (PREFETCH == 0) source.fetch(next);
      source.put(target);
    }
    reading = reading + 1 == STAGES ? 0 : reading + 1;
    filling = filling + 1 == STAGES ? 0 : filling + 1;
  }
}

// As above, but the double buffer of fragments runs across slabs: in the last step of a slab the
// first operands of the next one are read, so that no multiply waits for shared memory at a slab's
// start.
template <int STEPS, int UNROLL, class Source, class Math>
__device__ __forceinline__ void overlapped_loop(Source& source, Math& math, unsigned char* ring,
                                                int slabs) {
  constexpr int AHEAD = STAGES - 1;
  typename Math::Fragments set[2];
  wait_copies<AHEAD - 1>();
  __syncthreads();
  math.load(set[0], ring, 0);
  int reading = 0;
  int filling = STAGES - 1;
#pragma unroll 1
  for (int s = 0; s < slabs; ++s) {
    const int next = s + AHEAD;
    const unsigned char* stage = ring + reading * Source::STAGE_BYTES;
    unsigned char* target = ring + filling * Source::STAGE_BYTES;
    reading = reading + 1 == STAGES ? 0 : reading + 1;
    filling = filling + 1 == STAGES ? 0 : filling + 1;
    const int next_stage = reading;
#pragma unroll 1
    for (int base = 0; base < STEPS; base += UNROLL) {
#pragma unroll
      for (int i = 0; i < UNROLL; ++i) {
        const int step = base + i;
        if (step == 0) {
          if (next < slabs) source.start(next, target);
          commit_copies();
          if constexpr (PREFETCH != 0) {
            if (next < slabs) source.fetch(next);
          }
        }
        if (step + 1 < STEPS) {
          math.advance(set[(i + 1) % 2], stage, step + 1, set[i % 2]);
        } else {
          if (next < slabs) {
            if constexpr (PREFETCH == 0) source.fetch(next);
            source.put(target);
          }
          wait_copies<AHEAD - 1>();  // slab s + 1 has landed
          __syncthreads();           // and this slab's last operands are in registers everywhere
          if (s + 1 < slabs)
            math.load(set[(i + 1) % 2], ring + next_stage * Source::STAGE_BYTES, 0);
          math.multiply(set[i % 2]);
        }
      }
    }
    if constexpr (STEPS % 2 == 1) set[0] = set[1];
  }
}

template <int STEPS, int UNROLL, class Source, class Math>
__device__ __forceinline__ void walk_k(Source& source, Math& math, unsigned char* ring, int slabs) {
  constexpr int AHEAD = STAGES > 1 ? STAGES - 1 : 1;
#pragma unroll 1
  for (int s = 0; s < AHEAD; ++s) {
    if (s < slabs) {
      source.start(s, ring + s * Source::STAGE_BYTES);
      source.fetch(s);
      source.put(ring + s * Source::STAGE_BYTES);
    }
    commit_copies();
  }
  if constexpr (FRAGMENTS != 0 && STAGES > 1) {
    overlapped_loop<STEPS, UNROLL>(source, math, ring, slabs);
  } else {
    simple_loop<STEPS, UNROLL>(source, math, ring, slabs);
  }
}
