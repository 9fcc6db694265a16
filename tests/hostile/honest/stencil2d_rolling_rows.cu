// cupilot: {"task": ["tests/hostile/tasks/stencil2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "stencil", "grid": ["cdiv(w, 64)", "cdiv(h, 16)"], "block": [64], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// A thread a column, sixteen rows down: three rows in registers, the row's neighbours from shared memory.
extern "C" __global__ void stencil(const float* x, float* y, int h, int w) {
  __shared__ float row[66];
  const int t = threadIdx.x, j = blockIdx.x * 64 + t, top = blockIdx.y * 16;
  const bool inside = j < w;
  float above = inside && top > 0 ? x[(long long)(top - 1) * w + j] : 0.0f;
  float here = inside ? x[(long long)top * w + j] : 0.0f;
  for (int i = top; i < min(top + 16, h); ++i) {
    const float below = inside && i + 1 < h ? x[(long long)(i + 1) * w + j] : 0.0f;
    row[t + 1] = here;
    if (t == 0) row[0] = j > 0 ? x[(long long)i * w + j - 1] : 0.0f;
    if (t == 63) row[65] = j + 1 < w ? x[(long long)i * w + j + 1] : 0.0f;
    __syncthreads();
    if (inside) y[(long long)i * w + j] = 0.5f * here + 0.125f * ((above + below) + (row[t] + row[t + 2]));
    __syncthreads();
    above = here;
    here = below;
  }
}
