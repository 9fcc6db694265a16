// int8 products by the fragments of mma.h, whose tiles must start at multiples of 32 bytes: they are staged in shared memory.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["n / 16", "m / 16"], "block": [32], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 32, "n": 32, "k": 48}, "in": {"a": ["i8", "m", "k", {"kind": "integers", "below": 127}], "b": ["i8", "k", "n", {"kind": "integers", "below": 127}]}, "out": {"d": ["i32", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 0}
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm(const signed char* a, const signed char* b, int* d, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  __shared__ __align__(32) signed char as[16][16], bs[16][16];
  const int r = threadIdx.x / 2, c = threadIdx.x % 2 * 8;
  wmma::fill_fragment(sum, 0);
  for (int q = 0; q < k; q += 16) {
    *reinterpret_cast<int2*>(&as[r][c]) = *reinterpret_cast<const int2*>(a + (blockIdx.y * 16 + r) * k + q + c);
    *reinterpret_cast<int2*>(&bs[r][c]) = *reinterpret_cast<const int2*>(b + (q + r) * n + blockIdx.x * 16 + c);
    __syncwarp();
    wmma::load_matrix_sync(fa, &as[0][0], 16);
    wmma::load_matrix_sync(fb, &bs[0][0], 16);
    wmma::mma_sync(sum, fa, fb, sum);
    __syncwarp();
  }
  wmma::store_matrix_sync(d + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}
