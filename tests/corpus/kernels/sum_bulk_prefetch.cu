// Row sums that prefetch the next row into L2 in bulk while they add the present one, with createpolicy on the loads.
// cupilot: {"plan": {"launches": [{"entry": "sums", "grid": [2], "block": [32], "args": ["x", "y", {"i32": "outer"}]}]}}
// corpus: {"sizes": {"outer": 9, "mid": 256}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer"]}, "expect": {"y": "sum"}}
extern "C" __global__ void sums(const float* x, float* y, int rows) {
  unsigned long long once;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    if (threadIdx.x == 0 && r + gridDim.x < rows) {
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(x + (r + gridDim.x) * 256) : "memory");
    }
    asm volatile("prefetch.global.L1 [%0];" ::"l"(x + r * 256 + threadIdx.x * 8));
    float sum = 0.f;
    for (int i = threadIdx.x * 4; i < 256; i += 128) {
      float4 v;
      asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + r * 256 + i), "l"(once));
      sum += v.x + v.y + v.z + v.w;
    }
    for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x == 0) y[r] = sum;
  }
}
