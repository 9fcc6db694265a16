// cupilot: {"task": ["gemm", "m=48", "n=48", "k=32", "dtype=fp16", "out=fp32"]}
// cupilot: {"plan": {"require": ["m % 16 == 0", "n % 16 == 0", "k % 16 == 0"], "launches": [{"entry": "gemm", "grid": ["n / 16", "m / 16"], "block": [32], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Fragments of mma.h straight from memory, whole tiles only.
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void gemm(const half* a, const half* b, float* d, int m, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int from = 0; from < k; from += 16) {
    wmma::load_matrix_sync(left, a + (long long)blockIdx.y * 16 * k + from, k);
    wmma::load_matrix_sync(right, b + (long long)from * n + blockIdx.x * 16, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(d + (long long)blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}
