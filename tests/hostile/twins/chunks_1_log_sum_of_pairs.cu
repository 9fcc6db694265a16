// cupilot: {"task": ["tests/hostile/tasks/twin_lse16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [512], "args": ["x", "y", {"i32": "cols"}]}]}}
// The maximum of each chunk of 1024 is agreed on in one slot a warp, and a barrier ends the chunk.
#include <cuda_fp16.h>
#include <math.h>
extern "C" __global__ void k(const __half* x, float* y, int cols) {
  __shared__ float slot[16];
  const __half* p = x + (size_t)blockIdx.x * cols;
  float top = -INFINITY, sum = 0;
  for (int c0 = 0; c0 < cols; c0 += 1024) {
    const int c = c0 + 2 * threadIdx.x;
    const float a = c < cols ? __half2float(p[c]) : -INFINITY, b = c + 1 < cols ? __half2float(p[c + 1]) : -INFINITY;
    float m = fmaxf(a, b);
    for (int h = 16; h > 0; h >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, h));
    if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = m;
    __syncthreads();
    for (int i = 0; i < 16; ++i) m = fmaxf(m, slot[i]);
    __syncthreads();
    m = fmaxf(m, top);
    if (m == INFINITY || m != m) { top = m; continue; }
    if (m > -INFINITY) sum = sum * expf(top - m) + (a > -INFINITY ? expf(a - m) : 0) + (b > -INFINITY ? expf(b - m) : 0);
    if (a != a || b != b) sum = NAN;
    top = m;
  }
  for (int h = 16; h > 0; h >>= 1) sum += __shfl_xor_sync(~0u, sum, h);
  if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0;
    for (int i = 0; i < 16; ++i) sum += slot[i];
    y[blockIdx.x] = top == INFINITY ? NAN : top + logf(sum);
  }
}
