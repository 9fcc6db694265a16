// cupilot: {"task": ["tests/hostile/tasks/twin_peak.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
#include <math.h>
// The largest of a row; a NaN stays, as PyTorch has it.
__device__ float larger(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float part[2];
  const int t = threadIdx.x;
  float a = -INFINITY;
  for (int c = t; c < cols; c += 64) a = larger(a, x[(size_t)blockIdx.x * cols + c]);
  for (int h = 16; h > 0; h /= 2) a = larger(a, __shfl_xor_sync(~0u, a, h));
  if (t % 32 == 0) part[t / 32] = a;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = larger(part[0], part[1]);
}
