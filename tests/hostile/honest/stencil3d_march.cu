// cupilot: {"task": ["tests/hostile/tasks/stencil3d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "stencil", "grid": ["cdiv(w, 16)", "cdiv(h, 8)"], "block": [16, 8], "args": ["x", "y", {"i32": "d"}, {"i32": "h"}, {"i32": "w"}]}]}}
// A block marches through the planes: the planes before and after wait in registers, the present one in shared memory.
extern "C" __global__ void stencil(const float* x, float* y, int d, int h, int w) {
  __shared__ float tile[10][18];
  const int left = blockIdx.x * 16 - 1, top = blockIdx.y * 8 - 1;
  const int j = left + 1 + threadIdx.x, i = top + 1 + threadIdx.y;
  const bool inside = i < h && j < w;
  const long long plane = (long long)h * w, column = (long long)i * w + j;
  float before = 0.0f, here = inside ? x[column] : 0.0f;
  for (int z = 0; z < d; ++z) {
    const float after = inside && z + 1 < d ? x[(z + 1) * plane + column] : 0.0f;
    for (int at = threadIdx.y * 16 + threadIdx.x; at < 10 * 18; at += 128) {
      const int r = top + at / 18, c = left + at % 18;
      tile[at / 18][at % 18] = r >= 0 && r < h && c >= 0 && c < w ? x[z * plane + (long long)r * w + c] : 0.0f;
    }
    __syncthreads();
    const int r = threadIdx.y + 1, c = threadIdx.x + 1;
    const float near = (tile[r - 1][c] + tile[r + 1][c]) + (tile[r][c - 1] + tile[r][c + 1]) + (before + after);
    if (inside) y[z * plane + column] = 0.25f * here + 0.125f * near;
    __syncthreads();
    before = here;
    here = after;
  }
}
