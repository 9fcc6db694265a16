// cupilot: {"task": ["tests/hostile/tasks/stencil2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "stencil", "grid": ["cdiv(w, 32)", "cdiv(h, 8)"], "block": [32, 8], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// A tile and its edge in shared memory; beyond the field stand zeros.
extern "C" __global__ void stencil(const float* x, float* y, int h, int w) {
  __shared__ float tile[10][34];
  const int left = blockIdx.x * 32 - 1, top = blockIdx.y * 8 - 1;
  for (int at = threadIdx.y * 32 + threadIdx.x; at < 10 * 34; at += 256) {
    const int i = top + at / 34, j = left + at % 34;
    tile[at / 34][at % 34] = i >= 0 && i < h && j >= 0 && j < w ? x[(long long)i * w + j] : 0.0f;
  }
  __syncthreads();
  const int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
  if (i >= h || j >= w) return;
  const int r = threadIdx.y + 1, c = threadIdx.x + 1;
  const float near = (tile[r - 1][c] + tile[r + 1][c]) + (tile[r][c - 1] + tile[r][c + 1]);
  y[(long long)i * w + j] = 0.5f * tile[r][c] + 0.125f * near;
}
