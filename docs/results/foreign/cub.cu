// Small kernels through CUB's block and warp primitives, one a primitive and algorithm, for
// recipe.py. Rows of 512 elements, 128 threads with four each unless a name says otherwise.
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>

constexpr int threads = 128, items = 4, row = threads * items;
#define KERNEL extern "C" __global__ void __launch_bounds__(threads)
#define AT const int t = threadIdx.x, b = blockIdx.x * row
#define LOAD(T) \
  T v[items];   \
  cub::LoadDirectBlocked(t, x + b, v)
#define STORE cub::StoreDirectBlocked(t, y + b, v)

#define REDUCE(NAME, T, ALGORITHM)                     \
  KERNEL NAME(const T* x, T* y) {                      \
    using R = cub::BlockReduce<T, threads, ALGORITHM>; \
    __shared__ typename R::TempStorage s;              \
    AT;                                                \
    LOAD(T);                                           \
    const T sum = R(s).Sum(v);                         \
    if (t == 0) y[blockIdx.x] = sum;                   \
  }
REDUCE(reduce_raking_f, float, cub::BLOCK_REDUCE_RAKING)
REDUCE(reduce_commutative_f, float, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY)
REDUCE(reduce_warps_f, float, cub::BLOCK_REDUCE_WARP_REDUCTIONS)
REDUCE(reduce_raking_i, int, cub::BLOCK_REDUCE_RAKING)
REDUCE(reduce_commutative_i, int, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY)
REDUCE(reduce_warps_i, int, cub::BLOCK_REDUCE_WARP_REDUCTIONS)
REDUCE(reduce_raking_d, double, cub::BLOCK_REDUCE_RAKING)
REDUCE(reduce_warps_d, double, cub::BLOCK_REDUCE_WARP_REDUCTIONS)

#define SCAN(NAME, T, HOW, ALGORITHM)                \
  KERNEL NAME(const T* x, T* y) {                    \
    using S = cub::BlockScan<T, threads, ALGORITHM>; \
    __shared__ typename S::TempStorage s;            \
    AT;                                              \
    LOAD(T);                                         \
    S(s).HOW(v, v);                                  \
    STORE;                                           \
  }
SCAN(scan_raking_i, int, InclusiveSum, cub::BLOCK_SCAN_RAKING)
SCAN(scan_memoize_i, int, InclusiveSum, cub::BLOCK_SCAN_RAKING_MEMOIZE)
SCAN(scan_warps_i, int, InclusiveSum, cub::BLOCK_SCAN_WARP_SCANS)
SCAN(scan_raking_f, float, InclusiveSum, cub::BLOCK_SCAN_RAKING)
SCAN(scan_warps_f, float, InclusiveSum, cub::BLOCK_SCAN_WARP_SCANS)
SCAN(before_raking_i, int, ExclusiveSum, cub::BLOCK_SCAN_RAKING)
SCAN(before_warps_i, int, ExclusiveSum, cub::BLOCK_SCAN_WARP_SCANS)

#define MOVE(NAME, LOADS, STORES)                             \
  KERNEL NAME(const float* x, float* y) {                     \
    using L = cub::BlockLoad<float, threads, items, LOADS>;   \
    using S = cub::BlockStore<float, threads, items, STORES>; \
    __shared__ union {                                        \
      typename L::TempStorage l;                              \
      typename S::TempStorage s;                              \
    } u;                                                      \
    float v[items];                                           \
    L(u.l).Load(const_cast<float*>(x) + blockIdx.x * row, v); \
    __syncthreads();                                          \
    S(u.s).Store(y + blockIdx.x * row, v);                    \
  }
MOVE(move_direct, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_TRANSPOSE)
MOVE(move_vector, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_WARP_TRANSPOSE)
MOVE(move_transpose, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_DIRECT)
MOVE(move_warp_transpose, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_VECTORIZE)
MOVE(move_timesliced, cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
     cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED)

#define EXCHANGE(NAME, FIRST, SECOND)                    \
  KERNEL NAME(const float* x, float* y) {                \
    using E = cub::BlockExchange<float, threads, items>; \
    __shared__ typename E::TempStorage s;                \
    AT;                                                  \
    LOAD(float);                                         \
    E(s).FIRST(v, v);                                    \
    __syncthreads();                                     \
    E(s).SECOND(v, v);                                   \
    STORE;                                               \
  }
EXCHANGE(exchange_striped, BlockedToStriped, StripedToBlocked)
EXCHANGE(exchange_warp_striped, BlockedToWarpStriped, WarpStripedToBlocked)

KERNEL adjacent_left(const float* x, float* y) {
  using A = cub::BlockAdjacentDifference<float, threads>;
  __shared__ typename A::TempStorage s;
  AT;
  LOAD(float);
  A(s).SubtractLeft(v, v, [](float a, float b) { return a - b; });
  STORE;
}
KERNEL adjacent_right(const float* x, float* y) {
  using A = cub::BlockAdjacentDifference<float, threads>;
  __shared__ typename A::TempStorage s;
  AT;
  LOAD(float);
  A(s).SubtractRight(v, v, [](float a, float b) { return a - b; });
  STORE;
}
KERNEL heads(const int* x, int* y) {
  using D = cub::BlockDiscontinuity<int, threads>;
  __shared__ typename D::TempStorage s;
  AT;
  LOAD(int);
  int f[items];
  D(s).FlagHeads(f, v, [](int a, int b) { return a != b; });
  cub::StoreDirectBlocked(t, y + b, f);
}
KERNEL shuffle_down(const float* x, float* y) {
  using S = cub::BlockShuffle<float, threads>;
  __shared__ typename S::TempStorage s;
  AT;
  LOAD(float);
  float w[items] = {v[0], v[1], v[2], v[3]};
  S(s).Down(v, w);
  cub::StoreDirectBlocked(t, y + b, w);
}

// 32 threads, four keys each.
#define ORDER(NAME, MAKE, SORT)                                                 \
  extern "C" __global__ void __launch_bounds__(32) NAME(const int* x, int* y) { \
    using S = MAKE;                                                             \
    __shared__ typename S::TempStorage s;                                       \
    const int t = threadIdx.x, b = blockIdx.x * 128;                            \
    LOAD(int);                                                                  \
    S(s).SORT;                                                                  \
    STORE;                                                                      \
  }
using Radix = cub::BlockRadixSort<int, 32, items>;
using Narrow = cub::BlockRadixSort<int, 32, items, cub::NullType, 2>;
using Merge = cub::BlockMergeSort<int, 32, items>;
using WarpMerge = cub::WarpMergeSort<int, items, 32>;
struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
ORDER(sort_radix, Radix, Sort(v))
ORDER(sort_radix_two_bits, Narrow, Sort(v))
ORDER(sort_merge, Merge, Sort(v, Less()))
ORDER(sort_warp_merge, WarpMerge, Sort(v, Less()))

#define BINS(NAME, ALGORITHM)                                          \
  KERNEL NAME(const int* x, int* y) {                                  \
    using H = cub::BlockHistogram<int, threads, items, 64, ALGORITHM>; \
    __shared__ typename H::TempStorage s;                              \
    __shared__ int bins[64];                                           \
    AT;                                                                \
    LOAD(int);                                                         \
    H(s).Histogram(v, bins);                                           \
    __syncthreads();                                                   \
    if (t < 64) y[blockIdx.x * 64 + t] = bins[t];                      \
  }
BINS(bins_atomic, cub::BLOCK_HISTO_ATOMIC)
BINS(bins_sort, cub::BLOCK_HISTO_SORT)

// Rows of 512 floats, a warp or a part of one a piece.
#define WARPS(NAME, LANES)                                 \
  KERNEL NAME(const float* x, float* y) {                  \
    using R = cub::WarpReduce<float, LANES>;               \
    __shared__ typename R::TempStorage s[row / 4 / LANES]; \
    const int i = blockIdx.x * threads + threadIdx.x;      \
    const float sum = R(s[threadIdx.x / LANES]).Sum(x[i]); \
    if (i % LANES == 0) y[i / LANES] = sum;                \
  }
WARPS(warp_reduce_32, 32)
WARPS(warp_reduce_16, 16)
WARPS(warp_reduce_8, 8)
#define WARP_SCAN(NAME, LANES)                             \
  KERNEL NAME(const float* x, float* y) {                  \
    using S = cub::WarpScan<float, LANES>;                 \
    __shared__ typename S::TempStorage s[row / 4 / LANES]; \
    const int i = blockIdx.x * threads + threadIdx.x;      \
    float v = x[i];                                        \
    S(s[threadIdx.x / LANES]).InclusiveSum(v, v);          \
    y[i] = v;                                              \
  }
WARP_SCAN(warp_scan_32, 32)
WARP_SCAN(warp_scan_16, 16)
WARP_SCAN(warp_scan_8, 8)
