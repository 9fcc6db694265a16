// Transposed convolution in two dimensions with stride, padding, dilation and groups: outputs gather.
// cupilot: {"plan": {"let": {"oh": "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "ow": "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"}, "launches": [{"entry": "gather", "grid": ["cdiv(oh * ow, 64)", "o", "n"], "block": [64], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "h"}, {"i32": "w"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kh"}, {"i32": "kw"}, {"i32": "sh"}, {"i32": "sw"}, {"i32": "ph"}, {"i32": "pw"}, {"i32": "eh"}, {"i32": "ew"}, {"i32": "g"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 4, "o": 6, "g": 1, "h": 6, "w": 7, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "eh": 1, "ew": 1}, "constants": {"ph": 0, "pw": 0, "qh": 0, "qw": 0}}
// corpus: {"in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "c", "o / g", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"]}, "expect": {"y": "conv_transposed"}}
extern "C" __global__ void gather(const float* x, const float* f, float* y, int c, int o, int h, int w, int oh, int ow, int kh, int kw, int sh, int sw, int ph, int pw, int eh, int ew, int g) {
  const int pixel = blockIdx.x * 64 + threadIdx.x, channel = blockIdx.y, per_in = c / g, per_out = o / g, group = channel / per_out;
  if (pixel >= oh * ow) return;
  float sum = 0.f;
  for (int a = 0; a < kh; ++a) {
    const int row = pixel / ow + ph - a * eh;
    if (row < 0 || row % sh != 0 || row / sh >= h) continue;
    for (int b = 0; b < kw; ++b) {
      const int col = pixel % ow + pw - b * ew;
      if (col < 0 || col % sw != 0 || col / sw >= w) continue;
      for (int i = group * per_in; i < (group + 1) * per_in; ++i) {
        sum = fmaf(x[((blockIdx.z * c + i) * h + row / sh) * w + col / sw], f[((i * per_out + channel % per_out) * kh + a) * kw + b], sum);
      }
    }
  }
  y[(size_t)(blockIdx.z * o + channel) * oh * ow + pixel] = sum;
}
