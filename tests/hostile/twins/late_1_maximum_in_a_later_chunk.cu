// cupilot: {"task": ["tests/hostile/tasks/twin_soft_rows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
#include <math.h>
// A warp keeps the maximum and the sum of what it saw of its row; a larger value later scales the sum.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  const int t = threadIdx.x;
  const float* row = x + (size_t)blockIdx.x * cols;
  float m = -INFINITY, s = 0;
  for (int c0 = 0; c0 < cols; c0 += 32) {
    const float v = c0 + t < cols ? row[c0 + t] : -INFINITY;
    float most = v;
    for (int h = 16; h > 0; h /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, h));
    const float next = fmaxf(m, most);
    if (next > m) s *= expf(m - next);
    m = next;
    s += c0 + t < cols ? expf(v - m) : 0.0f;
  }
  for (int h = 16; h > 0; h /= 2) s += __shfl_xor_sync(~0u, s, h);
  for (int c = t; c < cols; c += 32) y[(size_t)blockIdx.x * cols + c] = expf(row[c] - m) / s;
}
