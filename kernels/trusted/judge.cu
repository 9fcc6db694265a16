// The judge's own kernels: content, poison, guards, comparison, scans; and the L2 flush. The text of storage.cuh, content.cuh
// and bound.cuh stands before it.
using namespace cupilot;

typedef unsigned long long u64;
typedef long long i64;

#define FIRST (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x)
#define STEP (static_cast<i64>(gridDim.x) * blockDim.x)

// Seen as fp32, bf16, fp16 or fp64 every element is a quiet NaN or far from any honest result.
__device__ constexpr u64 poison_word = 0xDE5A7F437FC0DE5Aull;
__device__ constexpr u64 guard_word = 0x5BADC0DE5BADC0DEull;

__device__ inline unsigned char poison_byte(i64 at) { return static_cast<unsigned char>(poison_word >> (at % 8 * 8)); }
__device__ inline unsigned char guard_byte(i64 at) { return static_cast<unsigned char>(guard_word >> (at % 8 * 8)); }

extern "C" __global__ void fill_tensor(void* memory, FillParams p) {
  for (i64 i = FIRST; i < p.elements; i += STEP) store_bits(memory, storage_offset(p, i), p.type, fill_bits(p, i));
}

// Elements of an input that are no longer what its recipe says.
extern "C" __global__ void count_changed(const void* memory, FillParams p, u64* changed) {
  for (i64 i = FIRST; i < p.elements; i += STEP) {
    const u64 width = storage_bytes(p.type) == 8 ? ~0ull : (1ull << storage_bytes(p.type) * 8) - 1;
    if (load_bits(memory, storage_offset(p, i), p.type) != (fill_bits(p, i) & width)) atomicAdd(changed, 1ull);
  }
}

// A slot of `bytes` holding a region [begin, end): guard pattern outside; inside poison (1), zeros (2) or nothing (0).
extern "C" __global__ void dress_slot(unsigned char* slot, i64 bytes, i64 begin, i64 end, int inside) {
  for (i64 w = FIRST; w < bytes / 8; w += STEP) {
    const i64 at = w * 8;
    if (at + 8 <= begin || at >= end) {
      reinterpret_cast<u64*>(slot)[w] = guard_word;
    } else if (at >= begin && at + 8 <= end) {
      // Poison counts from the region's start, which is 16-byte aligned.
      if (inside != 0) reinterpret_cast<u64*>(slot)[w] = inside == 1 ? poison_word : 0;
    } else {
      for (i64 b = at; b < at + 8; ++b) {
        if (b < begin || b >= end) {
          slot[b] = guard_byte(b);
        } else if (inside != 0) {
          slot[b] = inside == 1 ? poison_byte(b - begin) : 0;
        }
      }
    }
  }
}

// found[0]: bytes outside the region that lost the pattern; found[1]: the least such offset from the region's begin, biased.
extern "C" __global__ void count_guard(const unsigned char* slot, i64 bytes, i64 begin, i64 end, u64* found) {
  for (i64 w = FIRST; w < bytes / 8; w += STEP) {
    const i64 at = w * 8;
    if (at >= begin && at + 8 <= end) continue;
    if ((at + 8 <= begin || at >= end) && reinterpret_cast<const u64*>(slot)[w] == guard_word) continue;
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

__device__ inline bool is_poison(const void* memory, i64 offset, int type) {
  const int size = storage_bytes(type);
  const u64 width = size == 8 ? ~0ull : (1ull << size * 8) - 1;
  return load_bits(memory, offset, type) == ((poison_word >> (offset * size % 8 * 8)) & width);
}

// Elements that still hold poison.
extern "C" __global__ void count_poison(const void* memory, FillParams p, u64* found) {
  u64 mine = 0;
  for (i64 i = FIRST; i < p.elements; i += STEP) mine += is_poison(memory, storage_offset(p, i), p.type);
  if (mine != 0) atomicAdd(found, mine);
}

// What is compared: element j of the draw stands for element `index` of the output and place `at` of the oracle's arrays.
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
  const i64 at = d.key == 0 ? j : static_cast<i64>(hash_of(d.key, static_cast<u64>(j), 9) % static_cast<u64>(d.held));
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
  const i64 dense = (output / stride * e.layout.line + static_cast<i64>(place)) * stride + output % stride;
  return load_real(e.memory, storage_offset(e.layout, dense), e.layout.type);
}

__device__ inline Judged judge_one(const void* memory, const FillParams& p, const BoundParams& b, const Extreme& e, i64 index,
                                   double want, double sum) {
  const u64 bits = load_bits(memory, storage_offset(p, index), p.type);
  if (e.memory == nullptr) return judge_element(b, bits, want, sum);
  const double got_value = value_at(e, index, decode(bits, p.type));
  if (is_nan(got_value) && !is_nan(value_at(e, index, want))) return judged_equal(false, double_of(0x7FF0000000000000ull));
  return judge_element(b, bits_of(got_value), value_at(e, index, want), sum);
}

struct Tally {
  u64 failed, worst;  // worst: ratio as fp32 bits above the complement of j
};

extern "C" __global__ void compare_output(const void* memory, FillParams p, BoundParams b, Extreme e, Draw d, const double* values,
                                          const double* sums, Tally* tally) {
  u64 failed = 0, worst = 0;
  for (i64 j = FIRST; j < d.count; j += STEP) {
    const Found f = element_of(d, j);
    const Judged judged = judge_one(memory, p, b, e, f.index, values[f.at], sums[f.at]);
    failed += !judged.ok;
    const float ratio = static_cast<float>(judged.ratio);
    const u64 rank = (static_cast<u64>(bits_of(ratio)) << 32) | (0xFFFFFFFFull - static_cast<u64>(j & 0xFFFFFFFFll));
    if (rank > worst) worst = rank;
  }
  if (failed != 0) atomicAdd(&tally->failed, failed);
  if (worst != 0) atomicMax(&tally->worst, worst);
}

struct Worst {
  u64 failed;
  i64 index;
  double ratio, got, want, bound;
};

extern "C" __global__ void describe_worst(const void* memory, FillParams p, BoundParams b, Extreme e, Draw d, const double* values,
                                          const double* sums, const Tally* tally, Worst* worst) {
  worst->failed = tally->failed;
  worst->index = -1;
  if (tally->worst == 0 || d.count == 0) return;
  const Found f = element_of(d, static_cast<i64>(0xFFFFFFFFull - (tally->worst & 0xFFFFFFFFull)));
  const Judged judged = judge_one(memory, p, b, e, f.index, values[f.at], sums[f.at]);
  worst->index = f.index;
  worst->ratio = judged.ratio;
  worst->bound = judged.bound;
  worst->got = load_real(memory, storage_offset(p, f.index), p.type);
  worst->want = values[f.at];
}

// Leaves L2 full of clean lines of this buffer: the first half is written, the second read.
extern "C" __global__ void flush_l2(uint4* buffer, i64 count, unsigned int* sink) {
  const i64 half = count / 2;
  for (i64 i = FIRST; i < half; i += STEP) buffer[i] = make_uint4(1u, 2u, 3u, 4u);
  unsigned int sum = 0;
  for (i64 i = half + FIRST; i < count; i += STEP) {
    const uint4 v = buffer[i];
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x12345678u) *sink = sum;
}

// Keeps the device busy while the host enqueues what is to be timed.
extern "C" __global__ void hold_back(unsigned int nanoseconds) {
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}
