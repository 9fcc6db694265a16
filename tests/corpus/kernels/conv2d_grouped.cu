// Grouped convolution, a block a group and a row of outputs, the group's input rows staged by cp.async.
// cupilot: {"plan": {"launches": [{"entry": "grouped", "grid": ["h - kh + 1", "g", "n"], "block": [64], "shared": "c / g * kh * w * 4", "args": ["x", "f", "y", {"i32": "c / g"}, {"i32": "o / g"}, {"i32": "h"}, {"i32": "w"}, {"i32": "kh"}, {"i32": "kw"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 8, "o": 12, "g": 4, "h": 9, "w": 20, "kh": 3, "kw": 5}, "in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "o", "c / g", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "h - kh + 1", "w - kw + 1"]}, "expect": {"y": "conv"}}
#include <cuda_pipeline.h>

extern __shared__ __align__(16) float rows[];

extern "C" __global__ void grouped(const float* x, const float* f, float* y, int c, int o, int h, int w, int kh, int kw) {
  const int top = blockIdx.x, group = blockIdx.y, groups = gridDim.y, ow = w - kw + 1, oh = h - kh + 1;
  for (int i = threadIdx.x; i < c * kh * w / 4; i += 64) {
    const int channel = i * 4 / (kh * w), rest = i * 4 % (kh * w);
    __pipeline_memcpy_async(rows + i * 4, x + (((size_t)blockIdx.z * groups + group) * c + channel) * h * w + top * w + rest, 16);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = threadIdx.x; i < o * ow; i += 64) {
    const int channel = group * o + i / ow, col = i % ow;
    float sum = 0.f;
    for (int q = 0; q < c; ++q) {
      for (int a = 0; a < kh; ++a) {
        for (int b = 0; b < kw; ++b) sum = fmaf(f[((channel * c + q) * kh + a) * kw + b], rows[(q * kh + a) * w + col + b], sum);
      }
    }
    y[(((size_t)blockIdx.z * groups * o + channel) * oh + top) * ow + col] = sum;
  }
}
