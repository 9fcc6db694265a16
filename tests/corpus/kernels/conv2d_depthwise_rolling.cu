// 3 x 3 depthwise convolution: three rows roll through registers, neighbours come by shuffles.
// cupilot: {"plan": {"launches": [{"entry": "depthwise3x3", "grid": ["cdiv(w - 2, 30)", "n * c"], "block": [32], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"n": 1, "c": 4, "o": 4, "g": 4, "h": 9, "w": 50, "kh": 3, "kw": 3}, "in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "c", "kh", "kw"]}, "out": {"y": ["fp32", "n", "c", "h - 2", "w - 2"]}, "expect": {"y": "conv"}}
struct Row {
  float left, here, right;
};

__device__ Row row_at(const float* from, bool inside) {
  const float here = inside ? *from : 0.f;
  return {here, __shfl_down_sync(~0u, here, 1), __shfl_down_sync(~0u, here, 2)};
}

extern "C" __global__ void depthwise3x3(const float* x, const float* f, float* y, int c, int h, int w) {
  const int lane = threadIdx.x, col = blockIdx.x * 30 + lane;
  const float* k = f + blockIdx.y % c * 9;
  x += (size_t)blockIdx.y * h * w + col;
  Row a = row_at(x, col < w), b = row_at(x + w, col < w);
  for (int row = 2; row < h; ++row) {
    const Row d = row_at(x + row * w, col < w);
    const float sum = k[0] * a.left + k[1] * a.here + k[2] * a.right + k[3] * b.left + k[4] * b.here + k[5] * b.right +
                      k[6] * d.left + k[7] * d.here + k[8] * d.right;
    if (lane < 30 && col < w - 2) y[((size_t)blockIdx.y * (h - 2) + row - 2) * (w - 2) + col] = sum;
    a = b, b = d;
  }
}
