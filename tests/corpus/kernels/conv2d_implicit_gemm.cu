// Two-dimensional convolution as a product of filters and image patches that are gathered on the way into shared memory.
// cupilot: {"plan": {"let": {"oh": "(h + 2 * ph - eh * (kh - 1) - 1) / sh + 1", "ow": "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"}, "launches": [{"entry": "conv2d", "grid": ["cdiv(oh * ow, 16)", "cdiv(o, 16)", "n"], "block": [16, 16], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "h"}, {"i32": "w"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kh"}, {"i32": "kw"}, {"i32": "sh"}, {"i32": "sw"}, {"i32": "ph"}, {"i32": "pw"}, {"i32": "eh"}, {"i32": "ew"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 3, "o": 20, "h": 13, "w": 11, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "eh": 1, "ew": 1}, "constants": {"ph": 0, "pw": 0}}
// corpus: {"in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "o", "c", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "(h + 2 * ph - eh * (kh - 1) - 1) / sh + 1", "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"]}, "expect": {"y": "conv"}}
extern "C" __global__ void conv2d(const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y, int c, int o, int h, int w, int oh, int ow, int kh, int kw, int sh, int sw, int ph, int pw, int eh, int ew) {
  __shared__ float fs[16][17], xs[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y, depth = c * kh * kw;
  const int pixel = blockIdx.x * 16 + tx, channel = blockIdx.y * 16 + ty;
  const int top = pixel / ow * sh - ph, left = pixel % ow * sw - pw;
  x += (size_t)blockIdx.z * c * h * w;
  float sum = 0.f;
  for (int base = 0; base < depth; base += 16) {
    fs[ty][tx] = channel < o && base + tx < depth ? f[channel * depth + base + tx] : 0.f;
    const int q = base + ty, row = top + q / kw % kh * eh, col = left + q % kw * ew;
    const bool inside = pixel < oh * ow && q < depth && row >= 0 && row < h && col >= 0 && col < w;
    xs[ty][tx] = inside ? x[(q / (kh * kw) * h + row) * w + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum = fmaf(fs[ty][i], xs[i][tx], sum);
    __syncthreads();
  }
  if (channel < o && pixel < oh * ow) y[((size_t)blockIdx.z * o + channel) * oh * ow + pixel] = sum;
}
