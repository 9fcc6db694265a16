// Three-dimensional convolution, a thread an output pixel and four output channels.
// cupilot: {"plan": {"let": {"od": "d - kd + 1", "oh": "h - kh + 1", "ow": "w - kw + 1"}, "launches": [{"entry": "conv3d", "grid": ["cdiv(od * oh * ow, 64)", "cdiv(o, 4)", "n"], "block": [64], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "d"}, {"i32": "h"}, {"i32": "w"}, {"i32": "kd"}, {"i32": "kh"}, {"i32": "kw"}]}]}}
// corpus: {"sizes": {"n": 1, "c": 3, "o": 6, "d": 6, "h": 7, "w": 8, "kd": 3, "kh": 3, "kw": 3}, "in": {"x": ["fp32", "n", "c", "d", "h", "w"], "f": ["fp32", "o", "c", "kd", "kh", "kw"]}}
// corpus: {"out": {"y": ["fp32", "n", "o", "d - kd + 1", "h - kh + 1", "w - kw + 1"]}, "expect": {"y": "conv"}}
extern "C" __global__ void conv3d(const float* x, const float* f, float* y, int c, int o, int d, int h, int w, int kd, int kh, int kw) {
  const int od = d - kd + 1, oh = h - kh + 1, ow = w - kw + 1, taps = kd * kh * kw;
  const int p = blockIdx.x * 64 + threadIdx.x, first = blockIdx.y * 4;
  if (p >= od * oh * ow) return;
  const int z = p / (oh * ow), r = p / ow % oh, q = p % ow;
  float sum[4] = {};
  for (int i = 0; i < c; ++i) {
    for (int t = 0; t < taps; ++t) {
      const int a = z + t / (kh * kw), b = r + t / kw % kh, e = q + t % kw;
      const float v = x[(((blockIdx.z * c + i) * d + a) * h + b) * w + e];
      for (int k = 0; k < 4 && first + k < o; ++k) sum[k] = fmaf(v, f[((first + k) * c + i) * taps + t], sum[k]);
    }
  }
  for (int k = 0; k < 4 && first + k < o; ++k) y[(size_t)(blockIdx.z * o + first + k) * od * oh * ow + p] = sum[k];
}
