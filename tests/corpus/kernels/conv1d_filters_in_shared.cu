// One-dimensional convolution with stride, padding and dilation: the filters of an output channel wait in shared memory.
// cupilot: {"plan": {"let": {"ow": "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"}, "launches": [{"entry": "conv1d", "grid": ["cdiv(ow, 64)", "o", "n"], "block": [64], "shared": "c * kw * 4", "args": ["x", "f", "y", {"i32": "c"}, {"i32": "w"}, {"i32": "ow"}, {"i32": "kw"}, {"i32": "sw"}, {"i32": "pw"}, {"i32": "ew"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 5, "o": 6, "w": 90, "kw": 3, "sw": 1, "ew": 1}, "constants": {"pw": 0}, "in": {"x": ["fp32", "n", "c", "w"], "f": ["fp32", "o", "c", "kw"]}}
// corpus: {"out": {"y": ["fp32", "n", "o", "(w + 2 * pw - ew * (kw - 1) - 1) / sw + 1"]}, "expect": {"y": "conv"}}
extern "C" __global__ void conv1d(const float* x, const float* f, float* y, int c, int w, int ow, int k, int s, int p, int e) {
  extern __shared__ float taps[];
  for (int i = threadIdx.x; i < c * k; i += blockDim.x) taps[i] = f[blockIdx.y * c * k + i];
  __syncthreads();
  const int o = blockIdx.x * 64 + threadIdx.x;
  if (o >= ow) return;
  float sum = 0.f;
  for (int i = 0; i < c; ++i) {
    const float* line = x + ((size_t)blockIdx.z * c + i) * w;
    for (int t = 0; t < k; ++t) {
      const int at = o * s - p + t * e;
      if ((unsigned)at < (unsigned)w) sum = fmaf(line[at], taps[i * k + t], sum);
    }
  }
  y[((size_t)blockIdx.z * gridDim.y + blockIdx.y) * ow + o] = sum;
}
