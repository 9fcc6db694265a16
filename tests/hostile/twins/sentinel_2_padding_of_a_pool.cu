// cupilot: {"task": ["tests/hostile/tasks/twin_pool_edge.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(w, 32)", "h", "planes"], "block": [32], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// What lies beyond the edge counts as minus infinity.
extern "C" __global__ void k(const float* x, float* y, int h, int w) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;
  if (c >= w) return;
  const float* p = x + (size_t)blockIdx.z * h * w;
  const float none = __int_as_float(0xff800000);
  float m = p[r * w + c];
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b) m = fmaxf(m, r + a >= 0 && r + a < h && c + b >= 0 && c + b < w ? p[(r + a) * w + c + b] : none);
  y[((size_t)blockIdx.z * h + r) * w + c] = m;
}
