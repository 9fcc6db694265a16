// cupilot: {"task": ["tests/hostile/tasks/stencil3d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "stencil", "grid": ["cdiv(w, 16)", "cdiv(h, 4)", "d"], "block": [16, 4], "args": ["x", "y", {"i32": "d"}, {"i32": "h"}, {"i32": "w"}]}]}}
extern "C" __global__ void stencil(const float* x, float* y, int d, int h, int w) {
  const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z;
  if (i >= h || j >= w) return;
  const long long plane = (long long)h * w, at = z * plane + (long long)i * w + j;
  float near = 0.0f;
  if (z > 0) near += x[at - plane];
  if (z + 1 < d) near += x[at + plane];
  if (i > 0) near += x[at - w];
  if (i + 1 < h) near += x[at + w];
  if (j > 0) near += x[at - 1];
  if (j + 1 < w) near += x[at + 1];
  y[at] = 0.25f * x[at] + 0.125f * near;
}
