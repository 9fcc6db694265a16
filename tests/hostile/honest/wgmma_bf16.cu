// cupilot: {"task": ["gemm", "m=64", "n=40", "k=48", "dtype=bf16", "out=fp32"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 8)", "cdiv(m, 64)"], "block": [128], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// A warpgroup multiplies 64 x 16 by 16 x 8 from shared memory, where core matrices of 8 rows by 16 bytes stand one after another.
__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }
// Start, bytes between core matrices along K, bytes between those along M or N; no swizzle.
__device__ unsigned long long descriptor(const void* shared, unsigned along_k, unsigned across) {
  const auto field = [](unsigned bytes) { return (unsigned long long)((bytes & 0x3ffff) >> 4); };
  return field(address(shared)) | field(along_k) << 16 | field(across) << 32;
}

extern "C" __global__ void __launch_bounds__(128) gemm(const unsigned short* a, const unsigned short* b, float* d, int m, int n, int k) {
  __shared__ __align__(128) unsigned short left[2][64][8], right[2][8][8];  // [half of K][row or column][8 of K]
  const int t = threadIdx.x, top = blockIdx.y * 64, edge = blockIdx.x * 8;
  float sum[4] = {};
  for (int from = 0; from < k; from += 16) {
    for (int i = t; i < 1024; i += 128) {
      const int p = i % 16, r = i / 16;
      left[p / 8][r][p % 8] = top + r < m && from + p < k ? a[(long long)(top + r) * k + from + p] : 0;
    }
    const int p = t / 8, c = t % 8;
    right[p / 8][c][p % 8] = from + p < k && edge + c < n ? b[(long long)(from + p) * n + edge + c] : 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "l"(descriptor(left, 1024, 128)), "l"(descriptor(right, 128, 128)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])::"memory");
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const int row = top + t / 32 * 16 + t % 32 / 4 + i / 2 * 8, column = edge + t % 4 * 2 + i % 2;
    if (row < m && column < n) d[(long long)row * n + column] = sum[i];
  }
}
