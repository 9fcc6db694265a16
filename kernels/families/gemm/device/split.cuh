// An fp32 operand as a sum of planes that tensor cores take: planes of falling magnitude, each the
// nearest to what those before it leave over. Products of planes, smallest first, then make up the
// fp32 product.
//
//   SCHEME 1, tf32x3: two planes of tf32 keep 22 bits and more; three products
//   SCHEME 2, bf16x6: three planes of bf16 keep all 24 bits; six products
//   SCHEME 3, bf16x3: two planes of bf16 keep 16 bits; three products (a class of its own, less
//   accurate than fp32)
constexpr int PLANES = SCHEME == 2 ? 3 : 2;

template <int NUMBER>
struct PlaneOf {
  using type = bf16;
};
template <>
struct PlaneOf<1> {
  using type = float;
};
using Plane = PlaneOf<SCHEME>::type;

// The nearest plane element, as fp32. In tf32 half a unit of the last bit kept is added before the
// rest is cut off.
__device__ __forceinline__ float nearest_in_plane(float value) {
  if constexpr (SCHEME == 1) {
    const float power = __uint_as_float(__float_as_uint(value) & 0xff800000u);
    return __uint_as_float(__float_as_uint(fmaf(power, 0x1p-11f, value)) & 0xffffe000u);
  } else {
    return to_float(from_float<bf16>(value));
  }
}

// Eight neighbours of one plane, as they are stored.
constexpr int RUN = 8;
using PlaneRun = Vector<Plane, RUN>;

// Takes the next plane off `rest`, exactly.
__device__ __forceinline__ void peel(float (&rest)[RUN], Plane (&plane)[RUN]) {
#pragma unroll
  for (int i = 0; i < RUN; ++i) {
    const float near = nearest_in_plane(rest[i]);
    plane[i] = from_float<Plane>(near);
    rest[i] -= near;
  }
}
// 16 bytes a store; `to` is a multiple of that.
__device__ __forceinline__ void store_run(Plane* to, const Plane (&plane)[RUN]) {
  constexpr int WIDE = 16 / static_cast<int>(sizeof(Plane));
#pragma unroll
  for (int first = 0; first < RUN; first += WIDE) {
    Vector<Plane, WIDE> out;
#pragma unroll
    for (int i = 0; i < WIDE; ++i) out.at[i] = plane[first + i];
    store_vector(to + first, out);
  }
}

// A block of SPLIT_THREADS splits a square of an operand: SQUARE of its rows or columns by SQUARE
// of K. Planes lie one behind another, each row along K whatever the source's order, `pitch`
// elements apart (a multiple of RUN; what lies between K and pitch becomes zero).
constexpr int SQUARE = 64;
constexpr int SPLIT_THREADS = 256;

struct Source {
  const float* from;  // of this matrix of the batch
  Plane* to;          // its first plane
  int outer, k, pitch;
};

// Eight neighbours along K of row `row`, straight from memory where lines run along K.
__device__ __forceinline__ void load_run(const Source& source, int row, int first,
                                         float (&run)[RUN]) {
  const float* from = source.from + static_cast<long long>(row) * source.k + first;
  if (reinterpret_cast<unsigned long long>(from) % 16 == 0 && first + RUN <= source.k) {
#pragma unroll
    for (int i = 0; i < RUN; i += 4) {
      const Vector<float, 4> four = load_vector_streaming<float, 4>(from + i);
#pragma unroll
      for (int j = 0; j < 4; ++j) run[i + j] = four.at[j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < RUN; ++i) run[i] = first + i < source.k ? from[i] : 0.0f;
  }
}

template <bool K_FAST>
__device__ __forceinline__ void split_square(const Source& source, int top, int left) {
  constexpr int RUNS = SQUARE / RUN;
  __shared__ float turned[K_FAST ? 1 : SQUARE][SQUARE + 1];
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (!K_FAST) {
#pragma unroll
    for (int i = thread; i < SQUARE * SQUARE; i += SPLIT_THREADS) {
      const int line = left + i / SQUARE, row = top + i % SQUARE;
      turned[i / SQUARE][i % SQUARE] =
          line < source.k && row < source.outer
              ? source.from[static_cast<long long>(line) * source.outer + row]
              : 0.0f;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = thread; i < SQUARE * RUNS; i += SPLIT_THREADS) {
    const int row = top + i / RUNS, first = left + i % RUNS * RUN;
    if (row >= source.outer || first >= source.pitch) continue;
    float rest[RUN];
    if constexpr (K_FAST) {
      load_run(source, row, first, rest);
    } else {
#pragma unroll
      for (int j = 0; j < RUN; ++j) rest[j] = turned[first - left + j][i / RUNS];
    }
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
      Plane run[RUN];
      peel(rest, run);
      store_run(
          source.to + (static_cast<long long>(plane) * source.outer + row) * source.pitch + first,
          run);
    }
  }
}
