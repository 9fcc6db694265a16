// cupilot: {"task": ["tests/hostile/tasks/stencil2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "stencil", "grid": ["cdiv(w, 32)", "cdiv(h, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
extern "C" __global__ void stencil(const float* x, float* y, int h, int w) {
  const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 4 + threadIdx.y;
  if (i >= h || j >= w) return;
  const long long at = (long long)i * w + j;
  float near = 0.0f;
  if (i > 0) near += x[at - w];
  if (i + 1 < h) near += x[at + w];
  if (j > 0) near += x[at - 1];
  if (j + 1 < w) near += x[at + 1];
  y[at] = 0.5f * x[at] + 0.125f * near;
}
