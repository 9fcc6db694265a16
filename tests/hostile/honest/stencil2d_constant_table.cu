// cupilot: {"task": ["tests/hostile/tasks/stencil2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "stencil", "grid": ["cdiv(w, 16)", "cdiv(h, 16)"], "block": [16, 16], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// Places and weights come from tables in constant memory.
struct Point {
  int down, right;
  float weight;
};
__constant__ Point points[5] = {{0, 0, 0.5f}, {-1, 0, 0.125f}, {1, 0, 0.125f}, {0, -1, 0.125f}, {0, 1, 0.125f}};

extern "C" __global__ void stencil(const float* x, float* y, int h, int w) {
  const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= h || j >= w) return;
  float sum = 0.0f;
#pragma unroll 1
  for (int p = 0; p < 5; ++p) {
    const int r = i + points[p].down, c = j + points[p].right;
    if (r >= 0 && r < h && c >= 0 && c < w) sum += points[p].weight * x[(long long)r * w + c];
  }
  y[(long long)i * w + j] = sum;
}
