// Transposed convolution in two dimensions by scattering: inputs add their taps to a cleared output with float atomics.
// cupilot: {"plan": {"let": {"oh": "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "ow": "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"}, "launches": [{"entry": "clear", "grid": ["cdiv(n * o * oh * ow, 128)"], "block": [128], "args": ["y", {"i32": "n * o * oh * ow"}]}, {"entry": "scatter", "grid": ["cdiv(h * w, 32)", "c", "n"], "block": [32], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "h"}, {"i32": "w"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kh"}, {"i32": "kw"}, {"i32": "sh"}, {"i32": "sw"}, {"i32": "ph"}, {"i32": "pw"}, {"i32": "eh"}, {"i32": "ew"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 4, "o": 6, "g": 1, "h": 6, "w": 7, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "eh": 1, "ew": 1}, "constants": {"ph": 0, "pw": 0, "qh": 0, "qw": 0}}
// corpus: {"in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "c", "o / g", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"]}, "expect": {"y": "conv_transposed"}}
extern "C" __global__ void clear(float* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = 0.f;
}

extern "C" __global__ void scatter(const float* x, const float* f, float* y, int c, int o, int h, int w, int oh, int ow, int kh, int kw, int sh, int sw, int ph, int pw, int eh, int ew) {
  const int pixel = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y;
  if (pixel >= h * w) return;
  const float v = x[(size_t)(blockIdx.z * c + i) * h * w + pixel];
  for (int k = 0; k < o; ++k) {
    for (int t = 0; t < kh * kw; ++t) {
      const int row = pixel / w * sh - ph + t / kw * eh, col = pixel % w * sw - pw + t % kw * ew;
      if (row < 0 || row >= oh || col < 0 || col >= ow) continue;
      atomicAdd(y + ((blockIdx.z * o + k) * oh + row) * ow + col, v * f[(i * o + k) * kh * kw + t]);
    }
  }
}
