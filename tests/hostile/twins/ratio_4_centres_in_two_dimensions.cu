// cupilot: {"task": ["tests/hostile/tasks/twin_nearest_centre_2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(gw, 32)", "cdiv(gh, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}, {"i32": "gh"}, {"i32": "gw"}]}]}}
// The element whose middle is nearest, in whole numbers.
extern "C" __global__ void k(const short* x, short* y, int h, int w, int gh, int gw) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
  if (c >= gw || r >= gh) return;
  const int a = (2 * r + 1) * h / (2 * gh), b = (2 * c + 1) * w / (2 * gw);
  y[r * gw + c] = x[a * w + b];
}
