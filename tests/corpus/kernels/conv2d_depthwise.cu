// Depthwise convolution of any filter size: a thread walks down a column of outputs and the filter lies in shared memory.
// cupilot: {"plan": {"launches": [{"entry": "depthwise", "grid": ["cdiv(w - kw + 1, 32)", "cdiv(h - kh + 1, 4)", "n * c"], "block": [32], "shared": "kh * kw * 4", "args": ["x", "f", "y", {"i32": "c"}, {"i32": "h"}, {"i32": "w"}, {"i32": "kh"}, {"i32": "kw"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 3, "o": 3, "g": 3, "h": 11, "w": 40, "kh": 3, "kw": 3}, "in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "c", "kh", "kw"]}, "out": {"y": ["fp32", "n", "c", "h - kh + 1", "w - kw + 1"]}, "expect": {"y": "conv"}}
extern "C" __global__ void depthwise(const float* x, const float* f, float* y, int c, int h, int w, int kh, int kw) {
  extern __shared__ float filter[];
  const int oh = h - kh + 1, ow = w - kw + 1, plane = blockIdx.z, col = blockIdx.x * 32 + threadIdx.x;
  for (int i = threadIdx.x; i < kh * kw; i += 32) filter[i] = f[plane % c * kh * kw + i];
  __syncwarp();
  if (col >= ow) return;
  for (int row = blockIdx.y * 4; row < min(oh, (int)blockIdx.y * 4 + 4); ++row) {
    float sum = 0.f;
    for (int a = 0; a < kh; ++a) {
      for (int b = 0; b < kw; ++b) sum = fmaf(filter[a * kw + b], x[((size_t)plane * h + row + a) * w + col + b], sum);
    }
    y[((size_t)plane * oh + row) * ow + col] = sum;
  }
}
