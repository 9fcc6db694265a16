// cupilot: {"task": ["tests/hostile/tasks/twin_tiles_turned.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(w, 16)", "cdiv(h, 16)"], "block": [16, 16], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// Threads beyond either edge leave; the others meet twice.
extern "C" __global__ void k(const int* x, int* y, int h, int w) {
  __shared__ int s[16][17];
  const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (c >= w || r >= h) return;
  s[threadIdx.y][threadIdx.x] = x[r * w + c];
  __syncthreads();
  const int there = min(16, w - (int)blockIdx.x * 16);
  y[r * w + c] = s[threadIdx.y][there - 1 - threadIdx.x];
}
