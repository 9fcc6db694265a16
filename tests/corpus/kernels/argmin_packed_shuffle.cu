// Argmin over the middle dimension: value and index packed into 64 bits, a butterfly of shuffles, then shared memory.
// cupilot: {"plan": {"launches": [{"entry": "argmin", "grid": ["inner", "outer"], "block": [64], "args": ["x", "y", {"i32": "mid"}, {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 130, "inner": 7}, "in": {"x": ["fp32", "outer", "mid", "inner"]}, "out": {"y": ["i64", "outer", "inner"]}, "expect": {"y": "argmin"}, "tolerance": 0}
using u64 = unsigned long long;

__device__ u64 packed(float v, int i) {
  const unsigned bits = __float_as_uint(v);
  return (u64)(bits & 0x80000000u ? ~bits : bits | 0x80000000u) << 32 | (unsigned)i;
}

extern "C" __global__ void argmin(const float* x, long long* y, int mid, int inner) {
  __shared__ u64 of_warp[2];
  u64 best = ~0ull;
  for (int i = threadIdx.x; i < mid; i += 64) best = min(best, packed(x[((size_t)blockIdx.y * mid + i) * inner + blockIdx.x], i));
  for (int s = 16; s > 0; s >>= 1) best = min(best, __shfl_xor_sync(0xffffffffu, best, s));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.y * inner + blockIdx.x] = (long long)(min(of_warp[0], of_warp[1]) & 0xffffffffu);
}
