// cupilot: {"task": ["tests/hostile/tasks/twin_row_max16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A maximum that begins with minus infinity.
#include <cuda_fp16.h>
#include <math.h>
extern "C" __global__ void k(const __half* x, __half* y, int cols) {
  __shared__ float other;
  float m = -INFINITY;
  bool any = false;
  for (int c = threadIdx.x; c < cols; c += 64) {
    const float v = __half2float(x[(size_t)blockIdx.x * cols + c]);
    m = fmaxf(m, v), any |= v == v;
  }
  for (int h = 16; h > 0; h /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, h));
  any = __any_sync(~0u, any);
  if (threadIdx.x == 32) other = any ? m : NAN;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = __float2half(fmaxf(any ? m : NAN, other));
}
