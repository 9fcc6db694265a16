// Max pooling in three dimensions with window, stride, padding and dilation as template arguments.
// cupilot: {"plan": {"let": {"o": "(w + 2 - 7) / 2 + 1"}, "launches": [{"entry": "maxpool<3, 2, 1, 3>", "grid": ["cdiv(((d - 5) / 2 + 1) * ((h - 5) / 2 + 1) * o, 64)", "n"], "block": [64], "args": ["x", "y", {"i32": "d"}, {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"n": 2, "d": 9, "h": 12, "w": 14, "kd": 3, "kh": 3, "kw": 3, "sd": 2, "sh": 2, "sw": 2, "ed": 3, "eh": 3, "ew": 3}, "constants": {"pd": 1, "ph": 1, "pw": 1}}
// corpus: {"in": {"x": ["fp32", "n", "d", "h", "w"]}, "out": {"y": ["fp32", "n", "(d - 5) / 2 + 1", "(h - 5) / 2 + 1", "(w - 5) / 2 + 1"]}, "expect": {"y": "max_pool"}, "tolerance": 0}
template <int K, int STRIDE, int PAD, int DILATION>
__device__ int extent(int in) { return (in + 2 * PAD - DILATION * (K - 1) - 1) / STRIDE + 1; }

template <int K, int STRIDE, int PAD, int DILATION>
__global__ void maxpool(const float* x, float* y, int d, int h, int w) {
  const int od = extent<K, STRIDE, PAD, DILATION>(d), oh = extent<K, STRIDE, PAD, DILATION>(h), ow = extent<K, STRIDE, PAD, DILATION>(w);
  const int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= od * oh * ow) return;
  const int oz = o / (oh * ow), oy = o / ow % oh, ox = o % ow;
  x += (size_t)blockIdx.y * d * h * w;
  float best = __int_as_float(0xff800000);
#pragma unroll
  for (int a = 0; a < K; ++a) {
    const int z = oz * STRIDE - PAD + a * DILATION;
    if (z < 0 || z >= d) continue;
#pragma unroll
    for (int b = 0; b < K; ++b) {
      const int r = oy * STRIDE - PAD + b * DILATION;
      if (r < 0 || r >= h) continue;
#pragma unroll
      for (int c = 0; c < K; ++c) {
        const int q = ox * STRIDE - PAD + c * DILATION;
        if (q >= 0 && q < w) best = fmaxf(best, x[(z * h + r) * w + q]);
      }
    }
  }
  y[(size_t)blockIdx.y * od * oh * ow + o] = best;
}
