// cupilot: {"task": ["tests/hostile/tasks/stencil2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "stencil", "grid": ["cdiv(w, 30)", "cdiv(h, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// A warp holds 32 neighbours of a row and writes the inner 30: left and right come by shuffle.
extern "C" __global__ void stencil(const float* x, float* y, int h, int w) {
  const int j = (int)(blockIdx.x * 30 + threadIdx.x) - 1, i = blockIdx.y * 4 + threadIdx.y;
  const bool column = j >= 0 && j < w;
  const long long at = (long long)i * w + j;
  const float here = column && i < h ? x[at] : 0.0f;
  const float above = column && i > 0 && i - 1 < h ? x[at - w] : 0.0f;
  const float below = column && i + 1 < h ? x[at + w] : 0.0f;
  const float left = __shfl_up_sync(0xffffffffu, here, 1), right = __shfl_down_sync(0xffffffffu, here, 1);
  if (threadIdx.x == 0 || threadIdx.x == 31 || j >= w || i >= h) return;
  y[at] = 0.5f * here + 0.125f * ((above + below) + (left + right));
}
