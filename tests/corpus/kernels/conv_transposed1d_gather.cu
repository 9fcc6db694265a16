// Transposed convolution in one dimension: an output gathers the taps that reach it.
// cupilot: {"plan": {"let": {"ow": "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"}, "launches": [{"entry": "gather", "grid": ["cdiv(ow, 64)", "o", "n"], "block": [64], "args": ["x", "f", "y", {"i32": "c"}, {"i32": "w"}, {"i32": "ow"}, {"i32": "kw"}, {"i32": "sw"}, {"i32": "pw"}, {"i32": "ew"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 4, "o": 3, "w": 30, "kw": 3, "sw": 1, "ew": 1}, "constants": {"pw": 0, "qw": 0}, "in": {"x": ["fp32", "n", "c", "w"], "f": ["fp32", "c", "o", "kw"]}}
// corpus: {"out": {"y": ["fp32", "n", "o", "(w - 1) * sw + ew * (kw - 1) + qw + 1 - 2 * pw"]}, "expect": {"y": "conv_transposed"}}
extern "C" __global__ void gather(const float* x, const float* f, float* y, int c, int w, int ow, int k, int s, int p, int e) {
  const int out = blockIdx.x * 64 + threadIdx.x, o = gridDim.y;
  if (out >= ow) return;
  float sum = 0.f;
  for (int t = 0; t < k; ++t) {
    const int from = out + p - t * e;
    if (from < 0 || from % s != 0 || from / s >= w) continue;
    for (int i = 0; i < c; ++i) sum = fmaf(x[(blockIdx.z * c + i) * w + from / s], f[(i * o + blockIdx.y) * k + t], sum);
  }
  y[(blockIdx.z * o + blockIdx.y) * ow + out] = sum;
}
