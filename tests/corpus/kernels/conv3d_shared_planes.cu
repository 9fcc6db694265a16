// 3 x 3 x 3 convolution that marches along depth: three planes of a tile, halo included, in a ring in shared memory.
// cupilot: {"plan": {"launches": [{"entry": "march", "grid": ["cdiv(w - 2, 14)", "cdiv(h - 2, 6)", "n * o"], "block": [16, 8], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "d"}, {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"n": 1, "c": 2, "o": 3, "d": 6, "h": 10, "w": 18, "kd": 3, "kh": 3, "kw": 3}, "in": {"x": ["fp32", "n", "c", "d", "h", "w"], "f": ["fp32", "o", "c", "kd", "kh", "kw"]}}
// corpus: {"out": {"y": ["fp32", "n", "o", "d - 2", "h - 2", "w - 2"]}, "expect": {"y": "conv"}}
extern "C" __global__ void march(const float* x, const float* f, float* y, int c, int o, int d, int h, int w) {
  __shared__ float plane[3][8][16];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 14 + tx, row = blockIdx.y * 6 + ty;
  const int image = blockIdx.z / o, channel = blockIdx.z % o;
  const bool inside = row < h && col < w, writes = tx < 14 && ty < 6 && row < h - 2 && col < w - 2;
  for (int z = 0; z + 2 < d; ++z) {
    float sum = 0.f;
    for (int i = 0; i < c; ++i) {
      __syncthreads();
      for (int a = 0; a < 3; ++a) plane[a][ty][tx] = inside ? x[(((image * c + i) * d + z + a) * h + row) * w + col] : 0.f;
      __syncthreads();
      const float* k = f + (channel * c + i) * 27;
      if (!writes) continue;
#pragma unroll
      for (int t = 0; t < 27; ++t) sum = fmaf(k[t], plane[t / 9][ty + t / 3 % 3][tx + t % 3], sum);
    }
    if (writes) y[((blockIdx.z * (d - 2) + z) * (h - 2) + row) * (w - 2) + col] = sum;
  }
}
