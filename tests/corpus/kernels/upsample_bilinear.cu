// Bilinear upsampling by two, half-pixel centres, with edges clamped.
// cupilot: {"plan": {"launches": [{"entry": "upsample", "grid": ["cdiv(2 * w, 32)", "2 * h", "n"], "block": [32], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"n": 2, "h": 7, "w": 20}, "in": {"x": ["fp32", "n", "h", "w"]}, "out": {"y": ["fp32", "n", "2 * h", "2 * w"]}, "expect": {"y": "upsampled"}}
extern "C" __global__ void upsample(const float* x, float* y, int h, int w) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
  if (col >= 2 * w) return;
  const float fx = fmaxf((col + 0.5f) * 0.5f - 0.5f, 0.f), fy = fmaxf((row + 0.5f) * 0.5f - 0.5f, 0.f);
  const int x0 = __float2int_rd(fx), y0 = __float2int_rd(fy), x1 = min(x0 + 1, w - 1), y1 = min(y0 + 1, h - 1);
  const float ax = fx - x0, ay = fy - y0;
  x += (size_t)blockIdx.z * h * w;
  const float top = fmaf(ax, x[y0 * w + x1] - x[y0 * w + x0], x[y0 * w + x0]);
  const float bottom = fmaf(ax, x[y1 * w + x1] - x[y1 * w + x0], x[y1 * w + x0]);
  y[((size_t)blockIdx.z * 2 * h + row) * 2 * w + col] = fmaf(ay, bottom - top, top);
}
