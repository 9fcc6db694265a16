// A warp's 16 x 8 products in fp16 with fp16 sums, fragments by ldmatrix, results leave by stmatrix.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["n / 8", "m / 16"], "block": [32], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 32, "n": 16, "k": 48}, "in": {"a": ["fp16", "m", "k"], "b": ["fp16", "k", "n"]}, "out": {"d": ["fp16", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 1e-2}
#include <cuda_fp16.h>

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void gemm(const __half* a, const __half* b, __half* d, int n, int k) {
  __shared__ __align__(16) __half as[16][16], bs[16][8], ds[16][8];
  const int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 8;
  unsigned sum[2] = {};
  for (int q = 0; q < k; q += 16) {
    *reinterpret_cast<uint4*>(&as[lane / 2][lane % 2 * 8]) = *reinterpret_cast<const uint4*>(a + (row + lane / 2) * k + q + lane % 2 * 8);
    if (lane < 16) *reinterpret_cast<uint4*>(&bs[lane][0]) = *reinterpret_cast<const uint4*>(b + (q + lane) * n + col);
    __syncwarp();
    unsigned fa[4], fb[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(at(&as[lane % 16][lane / 16 * 8])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(fb[0]), "=r"(fb[1]) : "r"(at(bs[lane % 16])) : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(sum[0]), "+r"(sum[1]) : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    __syncwarp();
  }
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(at(ds[lane % 16])), "r"(sum[0]), "r"(sum[1]) : "memory");
  __syncwarp();
  if (lane < 16) *reinterpret_cast<uint4*>(d + (row + lane) * n + col) = *reinterpret_cast<const uint4*>(ds[lane]);
}
