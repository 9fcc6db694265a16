// Depthwise 3 x 3 with padding, then pointwise, fused: a block keeps the depthwise result of its pixels in shared memory.
// cupilot: {"plan": {"launches": [{"entry": "separable", "grid": ["cdiv(w, 16)", "h", "n"], "block": [16, 4], "shared": "c * 16 * 4", "args": ["x", "f", "r", "y", {"i32": "c"}, {"i32": "o"}, {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 6, "o": 9, "h": 7, "w": 20, "kh": 3, "kw": 3}, "constants": {"ph": 1, "pw": 1}, "in": {"x": ["fp32", "n", "c", "h", "w"], "f": ["fp32", "c", "kh", "kw"], "r": ["fp32", "o", "c"]}, "out": {"y": ["fp32", "n", "o", "h", "w"]}, "expect": {"y": "conv_separable"}}
extern "C" __global__ void separable(const float* x, const float* f, const float* r, float* y, int c, int o, int h, int w) {
  extern __shared__ float between[];
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y;
  for (int i = threadIdx.y; i < c; i += 4) {
    float sum = 0.f;
    for (int t = 0; t < 9; ++t) {
      const int a = row - 1 + t / 3, b = col - 1 + t % 3;
      if (a >= 0 && a < h && b >= 0 && b < w) sum = fmaf(f[i * 9 + t], x[(((size_t)blockIdx.z * c + i) * h + a) * w + b], sum);
    }
    between[i * 16 + threadIdx.x] = sum;
  }
  __syncthreads();
  if (col >= w) return;
  for (int k = threadIdx.y; k < o; k += 4) {
    float sum = 0.f;
    for (int i = 0; i < c; ++i) sum = fmaf(r[k * c + i], between[i * 16 + threadIdx.x], sum);
    y[(((size_t)blockIdx.z * o + k) * h + row) * w + col] = sum;
  }
}
