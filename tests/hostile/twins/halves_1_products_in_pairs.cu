// cupilot: {"task": ["tests/hostile/tasks/twin_half_rows.json"]}
// cupilot: {"plan": {"require": ["cols % 2 == 0"], "launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "w", "y", {"i32": "cols"}]}]}}
// Pairs of halves are multiplied and summed in fp32.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half2* x, const __half2* w, __half* y, int cols) {
  float a = 0;
  for (int c = threadIdx.x; c < cols / 2; c += 32) {
    const float2 p = __half22float2(x[(size_t)blockIdx.x * (cols / 2) + c]), q = __half22float2(w[c]);
    a += p.x * q.x + p.y * q.y;
  }
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (threadIdx.x == 0) y[blockIdx.x] = __float2half(a);
}
