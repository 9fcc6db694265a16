// Two-dimensional convolution in two launches: patches laid out as columns in a workspace, then a plain product.
// cupilot: {"plan": {"let": {"oh": "(h + 2 * ph - eh * (kh - 1) - 1) / sh + 1", "ow": "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"}, "buffers": [{"name": "columns", "bytes": "n * c * kh * kw * oh * ow * 4"}], "launches": [{"entry": "im2col", "grid": ["cdiv(oh * ow, 64)", "c * kh * kw", "n"], "block": [64], "args": ["x", "columns", {"i32": "c"}, {"i32": "o"}, {"i32": "h"}, {"i32": "w"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kh"}, {"i32": "kw"}, {"i32": "sh"}, {"i32": "sw"}, {"i32": "ph"}, {"i32": "pw"}, {"i32": "eh"}, {"i32": "ew"}]}, {"entry": "multiply", "grid": ["cdiv(oh * ow, 32)", "cdiv(o, 8)", "n"], "block": [32, 8], "args": ["f", "columns", "y", {"i32": "o"}, {"i32": "c * kh * kw"}, {"i32": "oh * ow"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 3, "o": 20, "h": 13, "w": 11, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "eh": 1, "ew": 1}, "constants": {"ph": 0, "pw": 0}}
// corpus: {"in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "o", "c", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "(h + 2 * ph - eh * (kh - 1) - 1) / sh + 1", "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"]}, "expect": {"y": "conv"}}
extern "C" __global__ void im2col(const float* x, float* columns, int c, int o, int h, int w, int oh, int ow, int kh, int kw, int sh, int sw, int ph, int pw, int eh, int ew) {
  const int pixel = blockIdx.x * 64 + threadIdx.x, q = blockIdx.y;
  if (pixel >= oh * ow) return;
  const int row = pixel / ow * sh - ph + q / kw % kh * eh, col = pixel % ow * sw - pw + q % kw * ew;
  const bool inside = row >= 0 && row < h && col >= 0 && col < w;
  columns[((size_t)blockIdx.z * gridDim.y + q) * oh * ow + pixel] =
      inside ? x[(((size_t)blockIdx.z * c + q / (kh * kw)) * h + row) * w + col] : 0.f;
}

extern "C" __global__ void multiply(const float* f, const float* columns, float* y, int o, int depth, int pixels) {
  const int pixel = blockIdx.x * 32 + threadIdx.x, channel = blockIdx.y * 8 + threadIdx.y;
  if (pixel >= pixels || channel >= o) return;
  columns += (size_t)blockIdx.z * depth * pixels + pixel;
  float sum = 0.f;
  for (int q = 0; q < depth; ++q) sum = fmaf(f[channel * depth + q], columns[(size_t)q * pixels], sum);
  y[((size_t)blockIdx.z * o + channel) * pixels + pixel] = sum;
}
