// Max pooling in one dimension with stride, padding and dilation, a thread an output.
// cupilot: {"plan": {"let": {"ow": "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"}, "launches": [{"entry": "maxpool", "grid": ["cdiv(ow, 128)", "n"], "block": [128], "args": ["x", "y", {"i32": "w"}, {"i32": "ow"}, {"i32": "kw"}, {"i32": "sw"}, {"i32": "pw"}, {"i32": "ew"}]}]}}
// corpus: {"sizes": {"n": 3, "w": 200, "kw": 8, "sw": 1, "ew": 3}, "constants": {"pw": 4}, "in": {"x": ["fp32", "n", "w"]}}
// corpus: {"out": {"y": ["fp32", "n", "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"]}, "expect": {"y": "max_pool"}, "tolerance": 0}
#include <float.h>

extern "C" __global__ void maxpool(const float* __restrict__ x, float* __restrict__ y, int w, int ow, int k, int s, int p, int e) {
  const int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= ow) return;
  x += (size_t)blockIdx.y * w;
  float best = -FLT_MAX;
  for (int t = 0; t < k; ++t) {
    const int i = o * s - p + t * e;
    if (i >= 0 && i < w) best = fmaxf(best, __ldg(x + i));
  }
  y[(size_t)blockIdx.y * ow + o] = best;
}
