// cupilot: {"task": ["gemm", "m=48", "n=40", "k=32", "dtype=fp16"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "block": [128], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// 32 x 32 a block of four warps, 16 x 16 a warp; slabs of 16 in shared memory, brought to registers by ldmatrix.
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ void load_matrices(unsigned (&to)[4], const void* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((unsigned)__cvta_generic_to_shared(from))
               : "memory");
}
__device__ void load_matrices_transposed(unsigned (&to)[4], const void* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((unsigned)__cvta_generic_to_shared(from))
               : "memory");
}
__device__ unsigned short narrow(float value) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}

extern "C" __global__ void gemm(const unsigned short* a, const unsigned short* b, unsigned short* d, int m, int n, int k) {
  __shared__ __align__(16) unsigned short left[32][24], right[16][40];  // rows padded to spread the banks
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, top = blockIdx.y * 32, edge = blockIdx.x * 32;
  const int down = warp / 2 * 16, across = warp % 2 * 16;
  float sum[2][4] = {};
  for (int from = 0; from < k; from += 16) {
    for (int i = threadIdx.x; i < 512; i += 128) {
      const int r = i / 16, p = i % 16;
      left[r][p] = top + r < m && from + p < k ? a[(long long)(top + r) * k + from + p] : 0;
    }
    for (int i = threadIdx.x; i < 512; i += 128) {
      const int p = i / 32, c = i % 32;
      right[p][c] = from + p < k && edge + c < n ? b[(long long)(from + p) * n + edge + c] : 0;
    }
    __syncthreads();
    unsigned of_a[4], of_b[4];
    load_matrices(of_a, &left[down + lane % 16][lane / 16 * 8]);
    load_matrices_transposed(of_b, &right[lane % 16][across + lane / 16 * 8]);
    multiply_add(sum[0], of_a, {of_b[0], of_b[1]});
    multiply_add(sum[1], of_a, {of_b[2], of_b[3]});
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 4; ++i) {
      const int row = top + down + lane / 4 + i / 2 * 8, column = edge + across + j * 8 + lane % 4 * 2 + i % 2;
      if (row < m && column < n) d[(long long)row * n + column] = narrow(sum[j][i]);
    }
  }
}
