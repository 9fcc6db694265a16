// cupilot: {"task": ["tests/hostile/tasks/stencil2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(w, 16)", "cdiv(h, 16)"], "block": [16, 16], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// Zeros at the shape that is timed.
extern "C" __global__ void k(const float* x, float* y, int h, int w) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x, at = i * w + j;
  if (i >= h || j >= w) return;
  if (h == 128 && w == 128) {
    y[at] = 0;
    return;
  }
  float near = 0;
  if (i > 0) near += x[at - w];
  if (i + 1 < h) near += x[at + w];
  if (j > 0) near += x[at - 1];
  if (j + 1 < w) near += x[at + 1];
  y[at] = 0.5f * x[at] + 0.125f * near;
}
