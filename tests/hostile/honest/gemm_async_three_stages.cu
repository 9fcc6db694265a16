// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"plan": {"require": ["k % 4 == 0", "n % 4 == 0"], "launches": [{"entry": "gemm", "grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "block": [64], "shared": "3 * 2 * 8 * 32 * 4", "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Three stages of 16-byte copies in dynamic shared memory, two slabs of eight under way.
extern __shared__ __align__(16) float ring[];

__device__ void copy16(float* to, const float* from, const float* any, bool inside) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(inside ? from : any), "r"(inside ? 16 : 0) : "memory");
}
extern "C" __global__ void __launch_bounds__(64) gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  const int t = threadIdx.x, top = blockIdx.y * 32, edge = blockIdx.x * 32, ty = t / 8 * 4, tx = t % 8 * 4;
  const int slabs = (k + 7) / 8;
  const auto start = [&](int s) {
    if (s < slabs) {
      float* left = ring + s % 3 * 512;
      float* right = left + 256;
      const int r = top + t / 2, p = s * 8 + t % 2 * 4, q = s * 8 + t / 8, c = edge + tx;
      copy16(left + t / 2 * 8 + t % 2 * 4, a + (long long)r * k + p, a, r < m && p < k);
      copy16(right + t / 8 * 32 + tx, b + (long long)q * n + c, b, q < k && c < n);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  start(0);
  start(1);
  float sum[4][4] = {};
  for (int s = 0; s < slabs; ++s) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    start(s + 2);
    const float* left = ring + s % 3 * 512;
    const float* right = left + 256;
#pragma unroll
    for (int p = 0; p < 8; ++p) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(left[(ty + i) * 8 + p], right[p * 32 + tx + j], sum[i][j]);
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (top + ty + i < m && edge + tx + j < n) d[(long long)(top + ty + i) * n + edge + tx + j] = sum[i][j];
    }
  }
}
