// A warpgroup's product in tf32 from shared memory, operands rounded by the tensor core's truncation.
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["n / 16", "m / 64"], "block": [128], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 64, "n": 32, "k": 24}, "constants": {"trans_b": 1}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "n", "k"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 3e-3}
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
constexpr int E = 4;  // elements a core matrix's row, a product takes two along K

extern "C" __global__ void __launch_bounds__(128) gemm(const float* a, const float* b, float* d, int n, int k) {
  __shared__ __align__(128) float left[2][64][E], right[2][16][E];
  const int t = threadIdx.x, top = blockIdx.y * 64, edge = blockIdx.x * 16;
  float sum[8] = {};
  for (int from = 0; from < k; from += 2 * E) {
    for (int i = t; i < 128 * E; i += 128) left[i / E % 2][i / E / 2][i % E] = a[(top + i / E / 2) * k + from + i % (2 * E)];
    for (int i = t; i < 32 * E; i += 128) right[i / E % 2][i / E / 2][i % E] = b[(edge + i / E / 2) * k + from + i % (2 * E)];
    publish();
    fence();
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1;"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
                 : "l"(descriptor(left, 1024, 128)), "l"(descriptor(right, 256, 128)));
    commit();
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])::"memory");
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i) {
    const int row = top + t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, col = edge + i / 4 * 8 + t % 4 * 2 + i % 2;
    d[row * n + col] = sum[i];
  }
}
