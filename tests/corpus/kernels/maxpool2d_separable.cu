// Max pooling in two dimensions, separable: maxima along rows into shared memory, then along columns.
// cupilot: {"plan": {"let": {"oh": "h + 2 * ph - kh + 1", "ow": "w + 2 * pw - kw + 1"}, "launches": [{"entry": "maxpool", "grid": ["cdiv(ow, 32)", "cdiv(oh, 8)", "n"], "block": [32, 8], "shared": "(8 + kh - 1) * 32 * 4", "args": ["x", "y", {"i32": "h"}, {"i32": "w"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kh"}, {"i32": "kw"}, {"i32": "ph"}, {"i32": "pw"}]}]}}
// corpus: {"sizes": {"n": 2, "h": 21, "w": 37, "kh": 4, "kw": 4}, "constants": {"ph": 1, "pw": 1}, "in": {"x": ["fp32", "n", "h", "w"]}}
// corpus: {"out": {"y": ["fp32", "n", "h + 2 * ph - kh + 1", "w + 2 * pw - kw + 1"]}, "expect": {"y": "max_pool"}, "tolerance": 0}
#include <math.h>

extern "C" __global__ void maxpool(const float* x, float* y, int h, int w, int oh, int ow, int kh, int kw, int ph, int pw) {
  extern __shared__ float along_rows[];
  const int ox = blockIdx.x * 32 + threadIdx.x, top = blockIdx.y * 8;
  x += (size_t)blockIdx.z * h * w;
  for (int r = threadIdx.y; r < 8 + kh - 1; r += 8) {
    const int iy = top + r - ph;
    float best = -INFINITY;
    for (int t = 0; t < kw; ++t) {
      const int ix = ox - pw + t;
      if (iy >= 0 && iy < h && ix >= 0 && ix < w) best = fmaxf(best, x[iy * w + ix]);
    }
    along_rows[r * 32 + threadIdx.x] = best;
  }
  __syncthreads();
  const int oy = top + threadIdx.y;
  if (oy >= oh || ox >= ow) return;
  float best = -INFINITY;
  for (int t = 0; t < kh; ++t) best = fmaxf(best, along_rows[(threadIdx.y + t) * 32 + threadIdx.x]);
  y[((size_t)blockIdx.z * oh + oy) * ow + ox] = best;
}
