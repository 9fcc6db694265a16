// The judge's own kernels: content, poison, comparison. The text of storage.cuh, content.cuh,
// bound.cuh and words.cuh stands before it.
using namespace cupilot;

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
