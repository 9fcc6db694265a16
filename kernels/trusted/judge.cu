// The judge's own kernels: content, poison, guards, comparison, scans; and the L2 flush. The text
// of storage.cuh, content.cuh and bound.cuh stands before it.
using namespace cupilot;

typedef unsigned long long u64;
typedef long long i64;

#define FIRST (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x)
#define STEP (static_cast<i64>(gridDim.x) * blockDim.x)

// Seen as fp32, bf16 or fp64 every element of the first is a NaN or far from any honest result,
// every element of the second a large finite number. In fp16 half of the first are NaNs; the others
// are numbers that honest sums reach.
__device__ constexpr u64 poison_word = 0xDE5A7F437FC0DE5Aull;
__device__ constexpr u64 large_word = 0x7149F2CA7149F2CAull;
__device__ constexpr u64 guard_word = 0x5BADC0DE5BADC0DEull;

// Contents that a region is initialised with.
enum Inside : int { inside_kept, inside_poison, inside_zeros, inside_large };

__device__ inline u64 inside_word(int inside) {
  return inside == inside_poison ? poison_word : inside == inside_large ? large_word : 0;
}
__device__ inline unsigned char guard_byte(i64 at) {
  return static_cast<unsigned char>(guard_word >> (at % 8 * 8));
}
// Eight bytes of a repeated word from byte `at` on.
__device__ inline u64 turned(u64 word, i64 at) {
  const int bits = static_cast<int>(at % 8) * 8;
  return bits == 0 ? word : (word >> bits) | (word << (64 - bits));
}

// Writes a tensor by its recipe; with `changed`: counts the elements that are no longer what it
// says. One kernel, as the recipe is most of its code.
extern "C" __global__ void fill_tensor(void* memory, FillParams p, u64* changed) {
  const u64 width = storage_bytes(p.type) == 8 ? ~0ull : (1ull << storage_bytes(p.type) * 8) - 1;
  for (i64 i = FIRST; i < p.elements; i += STEP) {
    const u64 bits = fill_bits(p, i);
    const i64 at = storage_offset(p, i);
    if (changed == nullptr) {
      store_bits(memory, at, p.type, bits);
    } else if (load_bits(memory, at, p.type) != (bits & width)) {
      atomicAdd(changed, 1ull);
    }
  }
}

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

// True if an honest kernel stores these bits of a word by chance only: in fp16 the NaNs that no
// conversion makes.
__device__ inline bool tells(u64 bits, int type) {
  return type != storage_f16 ||
         ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0 && (bits & 0x3ff) != 0x3ff);
}

// Counts elements that still hold the initial content of the region.
extern "C" __global__ void count_poison(const void* memory, FillParams p, int inside, u64* found) {
  const int size = storage_bytes(p.type);
  const u64 width = size == 8 ? ~0ull : (1ull << size * 8) - 1;
  u64 mine = 0;
  for (i64 i = FIRST; i < p.elements; i += STEP) {
    const i64 at = storage_offset(p, i);
    const u64 word = turned(inside_word(inside), at * size) & width;
    mine += load_bits(memory, at, p.type) == word && tells(word, p.type);
  }
  if (mine != 0) atomicAdd(found, mine);
}

// Storage between the elements of a strided tensor that is no longer what the region was dressed
// in. `p` has its dimensions by falling stride.
extern "C" __global__ void count_padding(const void* memory, FillParams p, int inside, u64* found) {
  const int size = storage_bytes(p.type);
  const u64 width = size == 8 ? ~0ull : (1ull << size * 8) - 1;
  for (i64 at = FIRST; at < p.span; at += STEP) {
    i64 left = at;
    bool owned = true;
    for (int d = 0; d < p.rank; ++d) {
      const i64 index = p.extents[d] > 1 ? left / p.strides[d] : 0;
      owned = owned && index < p.extents[d];
      left -= index * p.strides[d];
    }
    if (owned && left == 0) continue;
    if (load_bits(memory, at, p.type) != (turned(inside_word(inside), at * size) & width))
      atomicAdd(found, 1ull);
  }
}

// Elements to compare: element j of the draw stands for element `index` of the output and place
// `at` of the oracle's arrays.
struct Draw {
  const i64* begins;  // of the oracle's slices
  i64 slice;          // elements a slice
  i64 held;           // elements the oracle holds
  i64 count;          // elements to compare
  u64 key;            // 0: all in order
};
struct Found {
  i64 index, at;
};
__device__ inline Found element_of(const Draw& d, i64 j) {
  const i64 at =
      d.key == 0
          ? j
          : static_cast<i64>(hash_of(d.key, static_cast<u64>(j), 9) % static_cast<u64>(d.held));
  return Found{d.begins[at / d.slice] + at % d.slice, at};
}

// index_of: the tensor whose extreme is looked for.
struct Extreme {
  const void* memory;  // null: another check
  FillParams layout;
};
__device__ inline double value_at(const Extreme& e, i64 output, double place) {
  const double nan = double_of(0x7FF8000000000000ull);
  if (!(place >= 0.0 && place < static_cast<double>(e.layout.line))) return nan;
  const i64 stride = e.layout.line_stride;
  const i64 dense =
      (output / stride * e.layout.line + static_cast<i64>(place)) * stride + output % stride;
  return load_real(e.memory, storage_offset(e.layout, dense), e.layout.type);
}

__device__ inline Judged judge_one(const void* memory, const FillParams& p, const BoundParams& b,
                                   const Extreme& e, i64 index, double want, double sum) {
  const u64 bits = load_bits(memory, storage_offset(p, index), p.type);
  if (e.memory == nullptr) return judge_element(b, bits, want, sum);
  const double place = decode(bits, p.type);
  if (!(place >= 0.0 && place < static_cast<double>(e.layout.line)))
    return judged_equal(false, double_of(0x7FF0000000000000ull));
  const double got_value = value_at(e, index, place);
  if (is_nan(got_value) && !is_nan(value_at(e, index, want)))
    return judged_equal(false, double_of(0x7FF0000000000000ull));
  return judge_element(b, bits_of(got_value), value_at(e, index, want), sum);
}

struct Tally {
  u64 failed, worst;                     // worst: ratio as fp32 bits above the complement of j
  u64 one_term, inexact, inexact_error;  // of elements that are one term; the error as fp64 bits
};

struct Worst {
  u64 failed;
  i64 index;
  double ratio, got, want, bound;
};

// Compares the elements of a draw; with `worst`: one thread describes the worst one of a tally that
// is complete.
extern "C" __global__ void compare_output(const void* memory, FillParams p, BoundParams b,
                                          Extreme e, Draw d, const double* values,
                                          const double* sums, Tally* tally, Worst* worst) {
  const bool describes = worst != nullptr;
  if (describes) {
    if (FIRST != 0) return;
    worst->failed = tally->failed;
    worst->index = -1;
    if (tally->worst == 0) return;
  }
  Tally mine = {0, 0, 0, 0, 0};
  for (i64 i = FIRST; i < d.count; i += STEP) {
    const i64 j = describes ? static_cast<i64>(0xFFFFFFFFull - (tally->worst & 0xFFFFFFFFull)) : i;
    const Found f = element_of(d, j);
    const double want = values[f.at], sum = sums[f.at];
    const Judged judged = judge_one(memory, p, b, e, f.index, want, sum);
    if (describes) {
      worst->index = f.index;
      worst->ratio = judged.ratio;
      worst->bound = judged.bound;
      worst->got = load_real(memory, storage_offset(p, f.index), p.type);
      worst->want = want;
      return;
    }
    mine.failed += !judged.ok;
    const float ratio = static_cast<float>(judged.ratio);
    const u64 rank = (static_cast<u64>(bits_of(ratio)) << 32) |
                     (0xFFFFFFFFull - static_cast<u64>(j & 0xFFFFFFFFll));
    if (rank > mine.worst) mine.worst = rank;
    if (!is_one_term(b, want, sum)) continue;
    ++mine.one_term;
    const u64 bits = load_bits(memory, storage_offset(p, f.index), p.type);
    if (bits == encode(want, p.type)) continue;
    ++mine.inexact;
    const u64 error = bits_of(one_term_error(b, bits, want));
    if (error > mine.inexact_error) mine.inexact_error = error;
  }
  if (mine.failed != 0) atomicAdd(&tally->failed, mine.failed);
  if (mine.worst != 0) atomicMax(&tally->worst, mine.worst);
  if (mine.one_term != 0) atomicAdd(&tally->one_term, mine.one_term);
  if (mine.inexact != 0) atomicAdd(&tally->inexact, mine.inexact);
  if (mine.inexact_error != 0) atomicMax(&tally->inexact_error, mine.inexact_error);
}

// Single elements as stored, with the oracle's values at `places`: three words each.
extern "C" __global__ void gather_elements(const void* memory, FillParams p, const double* values,
                                           const double* sums, const i64* indices,
                                           const i64* places, i64 count, u64* out) {
  for (i64 i = FIRST; i < count; i += STEP) {
    out[3 * i] = load_bits(memory, storage_offset(p, indices[i]), p.type);
    out[3 * i + 1] = bits_of(values[places[i]]);
    out[3 * i + 2] = bits_of(sums[places[i]]);
  }
}

// Elements whose bits are not those of the first run; `marks` remembers them, so that each counts
// once.
extern "C" __global__ void compare_bits(const void* now, const void* first, FillParams p,
                                        unsigned char* marks, u64* count) {
  for (i64 i = FIRST; i < p.elements; i += STEP) {
    const i64 at = storage_offset(p, i);
    if (marks[i] != 0 || load_bits(now, at, p.type) == load_bits(first, at, p.type)) continue;
    marks[i] = 1;
    atomicAdd(count, 1ull);
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
