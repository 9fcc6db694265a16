// cupilot: {"task": ["tests/hostile/tasks/twin_masked_soft.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "keep", "y", {"i32": "cols"}]}]}}
#include <math.h>
// A softmax of what is kept of a row; zeros where nothing is kept.
extern "C" __global__ void k(const float* x, const bool* keep, float* y, int cols) {
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  const bool* of = keep + (size_t)blockIdx.x * cols;
  float m = -INFINITY, s = 0;
  int any = 0;
  for (int c = t; c < cols; c += 32)
    if (of[c]) m = fmaxf(m, row[c]), any = 1;
  for (int h = 16; h > 0; h /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, h));
  any = __any_sync(~0u, any);
  for (int c = t; c < cols; c += 32) s += of[c] ? expf(row[c] - m) : 0.0f;
  for (int h = 16; h > 0; h /= 2) s += __shfl_xor_sync(~0u, s, h);
  for (int c = t; c < cols; c += 32) y[(size_t)blockIdx.x * cols + c] = any && of[c] ? expf(row[c] - m) / s : 0.0f;
}
