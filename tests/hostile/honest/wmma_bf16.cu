// cupilot: {"task": ["gemm", "m=48", "n=40", "k=32", "dtype=bf16", "out=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [32], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Whole fragments of 16 x 16 by the wmma instructions, through shared memory.
extern "C" __global__ void gemm(const unsigned short* a, const unsigned short* b, float* d, int m, int n, int k) {
  __shared__ __align__(32) unsigned short left[256], right[256];
  __shared__ __align__(32) float result[256];
  const int lane = threadIdx.x, top = blockIdx.y * 16, edge = blockIdx.x * 16;
  float sum[8] = {};
  for (int from = 0; from < k; from += 16) {
    for (int i = lane; i < 256; i += 32) {
      const int r = i / 16, c = i % 16;
      left[i] = top + r < m && from + c < k ? a[(long long)(top + r) * k + from + c] : 0;
      right[i] = from + r < k && edge + c < n ? b[(long long)(from + r) * n + edge + c] : 0;
    }
    __syncwarp();
    unsigned of_a[4], of_b[4];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], 16;"
                 : "=r"(of_a[0]), "=r"(of_a[1]), "=r"(of_a[2]), "=r"(of_a[3])
                 : "r"((unsigned)__cvta_generic_to_shared(left))
                 : "memory");
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], 16;"
                 : "=r"(of_b[0]), "=r"(of_b[1]), "=r"(of_b[2]), "=r"(of_b[3])
                 : "r"((unsigned)__cvta_generic_to_shared(right))
                 : "memory");
    asm volatile(
        "wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, {%12, %13, %14, %15}, "
        "{%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
        : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]),
          "r"(of_b[0]), "r"(of_b[1]), "r"(of_b[2]), "r"(of_b[3]));
    __syncwarp();
  }
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, 16;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(result)),
               "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]), "f"(sum[4]), "f"(sum[5]), "f"(sum[6]), "f"(sum[7])
               : "memory");
  __syncwarp();
  for (int i = lane; i < 256; i += 32) {
    const int row = top + i / 16, column = edge + i % 16;
    if (row < m && column < n) d[(long long)row * n + column] = result[i];
  }
}
