// A thread's part of a row in registers: COUNT chunks, STRIDE chunks apart, so that neighbouring
// threads hold neighbouring chunks. Wants: LOG; softmax_row.cuh.

// Turns a row's elements into results.
struct Ending {
  float base;   // taken from each element
  float scale;  // softmax: the inverse of the sum; log-softmax: the sum's logarithm

  __device__ __forceinline__ explicit Ending(const Share& all)
      : base(base_of(all.largest)), scale(LOG != 0 ? logf(all.sum) : 1.0f / all.sum) {}
  __device__ __forceinline__ float of(float x) const {
    return LOG != 0 ? (x - base) - scale : exponential(x - base) * scale;
  }
  // Multiplies exponentials that were taken over the maximum of a share.
  __device__ __forceinline__ float factor(float largest) const {
    return exponential(largest - base) * scale;
  }
};

__device__ __forceinline__ float largest_in(const Chunk& chunk) {
  float most = element(chunk, 0);
#pragma unroll
  for (int j = 1; j < VECTOR; ++j) most = fmaxf(most, element(chunk, j));
  return most;
}
__device__ __forceinline__ float exponentials_of(const Chunk& chunk, float base) {
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) sum += exponential(element(chunk, j) - base);
  return sum;
}
// `to`: the address of `column` in y.
__device__ __forceinline__ void finish_chunk(const Row& row, T_y* to, int column,
                                             const Chunk& chunk, const Ending& ending) {
  float value[VECTOR];
#pragma unroll
  for (int j = 0; j < VECTOR; ++j) value[j] = ending.of(element(chunk, j));
  store_chunk(row, to, column, value);
}

template <int COUNT, int STRIDE>
struct Held {
  static constexpr bool KEEPS = LOG == 0;       // exponentials of the sum, for the results
  static constexpr int STEP = STRIDE * VECTOR;  // elements between a thread's chunks
  Chunk raw[COUNT];
  float kept[KEEPS ? COUNT : 1][VECTOR];
  int start,
      end;  // chunks start, start + STRIDE, ... before `end`; what lies behind is minus infinity

  // fetch(i) brings chunk i where it is whole. All whole chunks are asked for before a cut one is.
  template <class Fetch>
  __device__ __forceinline__ void load(const Row& row, int from, int to, Fetch fetch) {
    start = from;
    end = to;
    const int column = row.column(start);
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      raw[i] = empty_chunk();
      if (start + i * STRIDE < end && row.whole(column + i * STEP)) raw[i] = fetch(i);
    }
    if (row.smooth()) return;
    const T_x* cut = row.x + column;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if (start + i * STRIDE < end && !row.whole(column + i * STEP))
        raw[i] = load_cut(row, cut + i * STEP, column + i * STEP);
    }
  }
  __device__ __forceinline__ void load(const Row& row, int from) {
    const T_x* whole = row.x + row.column(from);
    load(row, from, row.chunks(), [&](int i) { return load_whole(whole + i * STEP); });
  }

  __device__ __forceinline__ float largest() const {
    float most[VECTOR];
#pragma unroll
    for (int j = 0; j < VECTOR; ++j) most[j] = minus_infinity();
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) most[j] = fmaxf(most[j], element(raw[i], j));
#pragma unroll
    for (int j = 1; j < VECTOR; ++j) most[0] = fmaxf(most[0], most[j]);
    return most[0];
  }

  // The sum of exp(x - base).
  __device__ __forceinline__ float exponentials(float base) {
    float sum[VECTOR] = {};
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) {
        const float one = exponential(element(raw[i], j) - base);
        if constexpr (KEEPS) kept[i][j] = one;
        sum[j] += one;
      }
    }
#pragma unroll
    for (int width = VECTOR / 2; width > 0; width /= 2)
#pragma unroll
      for (int j = 0; j < width; ++j) sum[j] += sum[j + width];
    return sum[0];
  }

  // Stores the results. `largest`: the one whose base exponentials() was called with.
  __device__ __forceinline__ void store(const Row& row, const Ending& ending, float largest) const {
    if constexpr (!KEEPS) return finish(row, ending);
    const float factor = ending.factor(largest);
    const int column = row.column(start);
    T_y* to = row.y + column;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      float value[VECTOR];
#pragma unroll
      for (int j = 0; j < VECTOR; ++j) value[j] = kept[KEEPS ? i : 0][j] * factor;
      if (start + i * STRIDE < end) store_chunk(row, to + i * STEP, column + i * STEP, value);
    }
  }

  // Finishes a row from the elements.
  __device__ __forceinline__ void finish(const Row& row, const Ending& ending) const {
    const int column = row.column(start);
    T_y* to = row.y + column;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if (start + i * STRIDE < end)
        finish_chunk(row, to + i * STEP, column + i * STEP, raw[i], ending);
    }
  }
};
