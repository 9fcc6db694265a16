// Transposed convolution in two dimensions by a product into columns, which a second launch folds back into the image.
// cupilot: {"plan": {"let": {"oh": "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "ow": "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"}, "buffers": [{"name": "columns", "bytes": "n * o * kh * kw * h * w * 4"}], "launches": [{"entry": "multiply", "grid": ["cdiv(h * w, 32)", "cdiv(o * kh * kw, 4)", "n"], "block": [32, 4], "args": ["x", "f", "columns", {"i32": "c"}, {"i32": "o * kh * kw"}, {"i32": "h * w"}]}, {"entry": "col2im", "grid": ["cdiv(oh * ow, 32)", "o", "n"], "block": [32], "args": ["columns", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "h"}, {"i32": "w"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kh"}, {"i32": "kw"}, {"i32": "sh"}, {"i32": "sw"}, {"i32": "ph"}, {"i32": "pw"}, {"i32": "eh"}, {"i32": "ew"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 4, "o": 6, "g": 1, "h": 6, "w": 7, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "eh": 1, "ew": 1}, "constants": {"ph": 0, "pw": 0, "qh": 0, "qw": 0}}
// corpus: {"in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "c", "o / g", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"]}, "expect": {"y": "conv_transposed"}}
extern "C" __global__ void multiply(const float* x, const float* f, float* columns, int c, int rows, int pixels) {
  const int pixel = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 4 + threadIdx.y;
  if (pixel >= pixels || row >= rows) return;
  float sum = 0.f;
  for (int i = 0; i < c; ++i) sum = fmaf(f[i * rows + row], x[(blockIdx.z * c + i) * pixels + pixel], sum);
  columns[(size_t)(blockIdx.z * rows + row) * pixels + pixel] = sum;
}

extern "C" __global__ void col2im(const float* columns, float* y, int c, int o, int h, int w, int oh, int ow, int kh, int kw, int sh, int sw, int ph, int pw, int eh, int ew) {
  const int pixel = blockIdx.x * 32 + threadIdx.x;
  if (pixel >= oh * ow) return;
  float sum = 0.f;
  for (int t = 0; t < kh * kw; ++t) {
    const int row = pixel / ow + ph - t / kw * eh, col = pixel % ow + pw - t % kw * ew;
    if (row < 0 || col < 0 || row % sh != 0 || col % sw != 0 || row / sh >= h || col / sw >= w) continue;
    sum += columns[(size_t)((blockIdx.z * o + blockIdx.y) * kh * kw + t) * h * w + row / sh * w + col / sw];
  }
  y[(size_t)(blockIdx.z * o + blockIdx.y) * oh * ow + pixel] = sum;
}
