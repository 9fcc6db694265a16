// cupilot: {"task": ["tests/hostile/tasks/twin_volume.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(w, 64)", "cdiv(h, 4)", "d"], "block": [64, 4], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// A voxel a thread.
extern "C" __global__ void k(const unsigned char* x, unsigned char* y, int h, int w) {
  const int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
  if (c >= w || r >= h) return;
  const size_t i = ((size_t)blockIdx.z * h + r) * w + c;
  y[i] = 255 - x[i];
}
