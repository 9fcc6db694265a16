// cupilot: {"task": ["gemm", "m=48", "n=40", "k=64", "dtype=bf16"]}
// cupilot: {"constants": {"STAGES": 3, "TILE": 32}}
// cupilot: {"plan": {"require": ["k % 8 == 0", "n % 8 == 0"], "launches": [{"entry": "gemm<{STAGES}>", "grid": ["cdiv(n, TILE)", "cdiv(m, TILE)"], "block": [128], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// 32 x 32 a block, slabs of 32 through a ring of asynchronous 16-byte copies; a row's chunks of 16 bytes are exchanged with
// the row number, so that ldmatrix meets no bank twice.
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }
__device__ int place(int row, int chunk) { return row * 32 + (chunk ^ (row / 2 % 4)) * 8; }

template <int STAGES>
__global__ void __launch_bounds__(128) gemm(const unsigned short* a, const unsigned short* b, unsigned short* d, int m, int n, int k) {
  __shared__ __align__(16) unsigned short left[STAGES][32 * 32], right[STAGES][32 * 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, top = blockIdx.y * 32, edge = blockIdx.x * 32;
  const int down = warp / 2 * 16, across = warp % 2 * 16;
  const int slabs = (k + 31) / 32;
  const auto copy = [&](unsigned short* to, const unsigned short* from, const unsigned short* any, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(inside ? from : any), "r"(inside ? 16 : 0)
                 : "memory");
  };
  const auto start = [&](int s) {
    if (s < slabs) {
      const int row = threadIdx.x / 4, chunk = threadIdx.x % 4, p = s * 32 + chunk * 8, q = s * 32 + row, c = edge + chunk * 8;
      copy(&left[s % STAGES][place(row, chunk)], a + (long long)(top + row) * k + p, a, top + row < m && p < k);
      copy(&right[s % STAGES][place(row, chunk)], b + (long long)q * n + c, b, q < k && c < n);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int s = 0; s < STAGES - 1; ++s) start(s);
  float sum[2][4] = {};
  for (int s = 0; s < slabs; ++s) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    start(s + STAGES - 1);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      unsigned of_a[4], of_b[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(of_a[0]), "=r"(of_a[1]), "=r"(of_a[2]), "=r"(of_a[3])
                   : "r"(address(&left[s % STAGES][place(down + lane % 16, step * 2 + lane / 16)]))
                   : "memory");
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(of_b[0]), "=r"(of_b[1]), "=r"(of_b[2]), "=r"(of_b[3])
                   : "r"(address(&right[s % STAGES][place(step * 16 + lane % 16, across / 8 + lane / 16)]))
                   : "memory");
      multiply_add(sum[0], of_a, {of_b[0], of_b[1]});
      multiply_add(sum[1], of_a, {of_b[2], of_b[3]});
    }
  }
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 4; ++i) {
      const int row = top + down + lane / 4 + i / 2 * 8, column = edge + across + j * 8 + lane % 4 * 2 + i % 2;
      if (row >= m || column >= n) continue;
      unsigned short half;
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(sum[j][i]));
      d[(long long)row * n + column] = half;
    }
  }
}
