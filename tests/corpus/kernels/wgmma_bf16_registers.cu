// A from registers, B from shared memory: the probabilities of an attention's second product take this way. bf16, sums in fp32.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["n / 16", "m / 64"], "block": [128], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 64, "n": 16, "k": 64}, "in": {"a": ["bf16", "m", "k"], "b": ["bf16", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 1e-5}
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// Start, bytes between core matrices (8 rows of 16 bytes) along K, bytes between those along M or N; no swizzle.
__device__ u64 descriptor(const void* p, unsigned along_k, unsigned across) {
  const auto field = [](unsigned bytes) { return (u64)((bytes & 0x3ffff) >> 4); };
  return field(at(p)) | field(along_k) << 16 | field(across) << 32;
}
__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(128) gemm(const unsigned short* a, const unsigned short* b, float* d, int n, int k) {
  __shared__ __align__(128) unsigned short right[2][16][8];  // core matrices with N along the rows: transposed by the product
  const int t = threadIdx.x, g = t % 32 / 4, p = t % 4 * 2, row = blockIdx.y * 64 + t / 32 * 16 + g, edge = blockIdx.x * 16;
  float sum[8] = {};
  for (int from = 0; from < k; from += 16) {
    unsigned left[4];
    for (int i = 0; i < 4; ++i) left[i] = *reinterpret_cast<const unsigned*>(a + (row + i % 2 * 8) * k + from + i / 2 * 8 + p);
    for (int i = t; i < 256; i += 128) right[i % 16 / 8][i / 16][i % 8] = b[(from + i / 16) * n + edge + i % 16];
    publish();
    fence();
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 1, 1, 1, 1;"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(descriptor(right, 128, 256)));
    commit();
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])::"memory");
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i) d[(row + i / 2 % 2 * 8) * n + edge + i / 4 * 8 + p + i % 2] = sum[i];
}
