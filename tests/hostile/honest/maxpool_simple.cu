// cupilot: {"task": ["tests/hostile/tasks/maxpool.json"]}
// cupilot: {"plan": {"launches": [{"entry": "pool", "grid": ["cdiv(w, 32)", "cdiv(h, 4)", "planes"], "block": [32, 4], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
extern "C" __global__ void pool(const float* x, float* y, int h, int w) {
  const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 4 + threadIdx.y;
  if (i >= h || j >= w) return;
  const float* top = x + ((long long)blockIdx.z * 2 * h + 2 * i) * 2 * w + 2 * j;
  y[((long long)blockIdx.z * h + i) * w + j] = fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2 * w], top[2 * w + 1]));
}
