// Transposed convolution in three dimensions with stride, padding, dilation, output padding and groups.
// cupilot: {"plan": {"let": {"od": "(d - 1) * sd + ed * (kd - 1) + qd + 1 - 2 * pd", "oh": "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "ow": "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"}, "launches": [{"entry": "gather", "grid": ["cdiv(ow, 32)", "oh * od", "n * o"], "block": [32], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "g"}, {"i32": "d"}, {"i32": "h"}, {"i32": "w"}, {"i32": "od"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kd"}, {"i32": "kh"}, {"i32": "kw"}, {"i32": "sd"}, {"i32": "sh"}, {"i32": "sw"}, {"i32": "pd"}, {"i32": "ph"}, {"i32": "pw"}, {"i32": "ed"}, {"i32": "eh"}, {"i32": "ew"}]}]}}
// corpus: {"sizes": {"n": 1, "c": 4, "o": 4, "g": 1, "d": 3, "h": 4, "w": 5, "kd": 3, "kh": 3, "kw": 3, "sd": 1, "sh": 1, "sw": 1, "ed": 1, "eh": 1, "ew": 1}, "constants": {"pd": 0, "ph": 0, "pw": 0, "qd": 0, "qh": 0, "qw": 0}}
// corpus: {"in": {"x": ["fp32", "n", "c", "d", "h", "w"], "f": ["fp32", "c", "o / g", "kd", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "(d - 1) * sd + ed * (kd - 1) + qd + 1 - 2 * pd", "(h - 1) * sh + eh * (kh - 1) + qh + 1 - 2 * ph", "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"]}, "expect": {"y": "conv_transposed"}}
// The input that tap t sends to `out`, or -1.
__device__ __forceinline__ int source(int out, int t, int in, int stride, int pad, int dilation) {
  const int from = out + pad - t * dilation;
  return from >= 0 && from % stride == 0 && from / stride < in ? from / stride : -1;
}

extern "C" __global__ void gather(const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y, int c, int o, int g,
                                  int d, int h, int w, int od, int oh, int ow, int kd, int kh, int kw, int sd, int sh, int sw, int pd,
                                  int ph, int pw, int ed, int eh, int ew) {
  const int q = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y % oh, z = blockIdx.y / oh, image = blockIdx.z / o, channel = blockIdx.z % o;
  if (q >= ow) return;
  const int per_in = c / g, per_out = o / g, first = channel / per_out * per_in;
  float sum = 0.f;
  for (int a = 0; a < kd; ++a) {
    const int iz = source(z, a, d, sd, pd, ed);
    if (iz < 0) continue;
    for (int b = 0; b < kh; ++b) {
      const int iy = source(r, b, h, sh, ph, eh);
      if (iy < 0) continue;
      for (int e = 0; e < kw; ++e) {
        const int ix = source(q, e, w, sw, pw, ew);
        if (ix < 0) continue;
        for (int i = first; i < first + per_in; ++i) {
          const int tap = (((i * per_out + channel % per_out) * kd + a) * kh + b) * kw + e;
          sum = fmaf(x[(((image * c + i) * d + iz) * h + iy) * w + ix], f[tap], sum);
        }
      }
    }
  }
  y[((size_t)blockIdx.z * od * oh + blockIdx.y) * ow + q] = sum;
}
