// Kernels that judge and runner have from their first moment: slots and their guards, the L2 flush,
// and the health probe. The text of content.cuh and words.cuh stands before it.
using namespace cupilot;

// A slot of `bytes` holding a region [begin, end): guard pattern outside, an Inside in it, counted
// from the region's start.
extern "C" __global__ void dress_slot(unsigned char* slot, i64 bytes, i64 begin, i64 end,
                                      int inside) {
  const u64 word = inside_word(inside);
  for (i64 w = FIRST; w < bytes / 8; w += STEP) {
    const i64 at = w * 8;
    if (at + 8 <= begin || at >= end) {
      reinterpret_cast<u64*>(slot)[w] = guard_word;
    } else if (at >= begin && at + 8 <= end) {
      if (inside != inside_kept) reinterpret_cast<u64*>(slot)[w] = turned(word, at - begin);
    } else {
      for (i64 b = at; b < at + 8; ++b) {
        if (b < begin || b >= end) {
          slot[b] = guard_byte(b);
        } else if (inside != inside_kept) {
          slot[b] = static_cast<unsigned char>(turned(word, b - begin));
        }
      }
    }
  }
}

// found[0]: bytes outside the region that lost the pattern; found[1]: the least such offset from
// the region's begin, biased.
extern "C" __global__ void count_guard(const unsigned char* slot, i64 bytes, i64 begin, i64 end,
                                       u64* found) {
  for (i64 w = FIRST; w < bytes / 8; w += STEP) {
    const i64 at = w * 8;
    if (at >= begin && at + 8 <= end) continue;
    if ((at + 8 <= begin || at >= end) && reinterpret_cast<const u64*>(slot)[w] == guard_word)
      continue;
    for (i64 b = at; b < at + 8; ++b) {
      if ((b < begin || b >= end) && slot[b] != guard_byte(b)) {
        atomicAdd(&found[0], 1ull);
        atomicMin(&found[1], static_cast<u64>(b));
      }
    }
  }
}

extern "C" __global__ void count_nonzero(const unsigned char* memory, i64 bytes, u64* found) {
  for (i64 i = FIRST; i < bytes; i += STEP) {
    if (memory[i] != 0) atomicAdd(found, 1ull);
  }
}

// Loads and stores whose lines L2 gives up last.
__device__ inline u64 keep_policy() {
  u64 policy = 0;
#if __CUDA_ARCH__ >= 800
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}
__device__ inline void store_kept(uint4* at, uint4 v, u64 policy) {
#if __CUDA_ARCH__ >= 800
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(at), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w), "l"(policy)
               : "memory");
#else
  *at = v;
#endif
}
__device__ inline uint4 load_kept(const uint4* at, u64 policy) {
#if __CUDA_ARCH__ >= 800
  uint4 v;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at), "l"(policy)
               : "memory");
  return v;
#else
  return *at;
#endif
}

// Fills L2 with lines of this buffer: the first half is written, the second read. Lines that a
// kernel asked to keep have to go, since these ask it too; release_l2 then makes them ordinary
// again.
extern "C" __global__ void flush_l2(uint4* buffer, i64 count, unsigned int* sink) {
  const i64 half = count / 2;
  const u64 policy = keep_policy();
  for (i64 i = FIRST; i < half; i += STEP)
    store_kept(buffer + i, make_uint4(1u, 2u, 3u, 4u), policy);
  unsigned int sum = 0;
  for (i64 i = half + FIRST; i < count; i += STEP) {
    const uint4 v = load_kept(buffer + i, policy);
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x12345678u) *sink = sum;
}

extern "C" __global__ void release_l2(const unsigned char* buffer, i64 bytes) {
#if __CUDA_ARCH__ >= 800
  for (i64 i = FIRST; i < bytes / 128; i += STEP)
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(buffer + i * 128)
                 : "memory");
#endif
}

// One block an SM, each with all the shared memory that a block may have; a block waits until every
// other has started, so that no SM is left out. `arrived` starts at a multiple of the number of
// blocks.
extern "C" __global__ void scrub_shared(int words, unsigned int* arrived) {
  extern __shared__ unsigned int everything[];
  for (int w = static_cast<int>(threadIdx.x); w < words; w += static_cast<int>(blockDim.x)) {
    everything[w] = static_cast<unsigned int>(poison_word >> 32);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned int ticket = atomicAdd(arrived, 1u);
  const unsigned int all = (ticket / gridDim.x + 1) * gridDim.x;
  while (static_cast<int>(*static_cast<volatile unsigned int*>(arrived) - all) < 0) {
  }
}

// The known kernel of the health probe.
extern "C" __global__ void probe_known(int rounds, u64* value) {
  u64 x = static_cast<u64>(FIRST);
  for (int i = 0; i < rounds; ++i) x = mix64(x);
  atomicXor(value, x);
}

extern "C" __global__ void nothing(int) {}

// Keeps the device busy while the host enqueues what is to be timed.
extern "C" __global__ void hold_back(unsigned int nanoseconds) {
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}
