// cupilot: {"task": ["tests/hostile/tasks/twin_turned.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(w, 32)", "cdiv(h, 32)"], "block": [32, 8], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// Tiles of 32 by 32 without padding: columns are exchanged by the row's number.
extern "C" __global__ void k(const float* x, float* y, int h, int w) {
  __shared__ float s[32][32];
  const int c = threadIdx.x, c0 = blockIdx.x * 32, r0 = blockIdx.y * 32;
  for (int r = threadIdx.y; r < 32; r += 8)
    if (r0 + r < h && c0 + c < w) s[r][c ^ r] = x[(size_t)(r0 + r) * w + c0 + c];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8)
    if (c0 + r < w && r0 + c < h) y[(size_t)(c0 + r) * h + r0 + c] = s[c][r ^ c];
}
