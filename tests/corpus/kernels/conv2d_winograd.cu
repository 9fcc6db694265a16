// 3 x 3 convolution by Winograd's F(2 x 2, 3 x 3): filters transformed once by a first launch, four outputs from sixteen products.
// cupilot: {"plan": {"buffers": [{"name": "u", "bytes": "o * c * 64"}], "launches": [{"entry": "transform", "grid": ["cdiv(o * c, 64)"], "block": [64], "args": ["f", "u", {"i32": "o * c"}]}, {"entry": "winograd", "grid": ["cdiv(w / 2 - 1, 32)", "h / 2 - 1", "n * o"], "block": [32], "args": ["x", "u", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"n": 1, "c": 3, "o": 4, "h": 12, "w": 18, "kh": 3, "kw": 3}, "in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "o", "c", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "h - 2", "w - 2"]}, "expect": {"y": "conv"}}
extern "C" __global__ void transform(const float* f, float* u, int count) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= count) return;
  float rows[4][3];
  for (int b = 0; b < 3; ++b) {
    const float f0 = f[i * 9 + b], f1 = f[i * 9 + 3 + b], f2 = f[i * 9 + 6 + b];
    rows[0][b] = f0, rows[1][b] = 0.5f * (f0 + f1 + f2), rows[2][b] = 0.5f * (f0 - f1 + f2), rows[3][b] = f2;
  }
  for (int a = 0; a < 4; ++a) {
    const float f0 = rows[a][0], f1 = rows[a][1], f2 = rows[a][2];
    reinterpret_cast<float4*>(u)[i * 4 + a] = make_float4(f0, 0.5f * (f0 + f1 + f2), 0.5f * (f0 - f1 + f2), f2);
  }
}

extern "C" __global__ void winograd(const float* x, const float* u, float* y, int c, int o, int h, int w) {
  const int tx = blockIdx.x * 32 + threadIdx.x, ty = blockIdx.y, image = blockIdx.z / o, channel = blockIdx.z % o;
  if (tx >= w / 2 - 1) return;
  float m[4][4] = {};
  for (int i = 0; i < c; ++i) {
    const float* from = x + (((size_t)image * c + i) * h + 2 * ty) * w + 2 * tx;
    float d[4][4], v[4][4];
    for (int a = 0; a < 4; ++a) {
      const float2 lo = *reinterpret_cast<const float2*>(from + a * w), hi = *reinterpret_cast<const float2*>(from + a * w + 2);
      d[a][0] = lo.x - hi.x, d[a][1] = lo.y + hi.x, d[a][2] = hi.x - lo.y, d[a][3] = lo.y - hi.y;
    }
    for (int b = 0; b < 4; ++b) {
      v[0][b] = d[0][b] - d[2][b], v[1][b] = d[1][b] + d[2][b], v[2][b] = d[2][b] - d[1][b], v[3][b] = d[1][b] - d[3][b];
    }
    const float* filter = u + ((size_t)channel * c + i) * 16;
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) m[a][b] = fmaf(filter[a * 4 + b], v[a][b], m[a][b]);
    }
  }
  for (int a = 0; a < 2; ++a) {
    float t[4];
    for (int b = 0; b < 4; ++b) t[b] = a == 0 ? m[0][b] + m[1][b] + m[2][b] : m[1][b] - m[2][b] - m[3][b];
    const size_t at = (((size_t)image * o + channel) * (h - 2) + 2 * ty + a) * (w - 2) + 2 * tx;
    *reinterpret_cast<float2*>(y + at) = make_float2(t[0] + t[1] + t[2], t[1] - t[2] - t[3]);
  }
}
