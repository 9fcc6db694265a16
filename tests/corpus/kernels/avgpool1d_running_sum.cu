// Average pooling in one dimension: each thread slides a running sum over eight neighbouring outputs of a row in shared memory.
// cupilot: {"plan": {"let": {"ow": "w + 2 * pw - kw + 1"}, "launches": [{"entry": "avgpool", "grid": ["cdiv(ow, 256)", "n"], "block": [32], "shared": "(256 + kw - 1) * 4", "args": ["x", "y", {"i32": "w"}, {"i32": "ow"}, {"i32": "kw"}, {"i32": "pw"}]}]}}
// corpus: {"sizes": {"n": 3, "w": 300, "kw": 8}, "constants": {"pw": 4}, "in": {"x": ["fp32", "n", "w"]}, "out": {"y": ["fp32", "n", "w + 2 * pw - kw + 1"]}, "expect": {"y": "average_pool"}}
extern "C" __global__ void avgpool(const float* x, float* y, int w, int ow, int k, int p) {
  extern __shared__ float line[];
  const int first = blockIdx.x * 256;
  for (int i = threadIdx.x; i < 256 + k - 1; i += 32) {
    const int at = first - p + i;
    line[i] = at >= 0 && at < w ? x[(size_t)blockIdx.y * w + at] : 0.f;
  }
  __syncwarp();
  float sum = 0.f;
  for (int t = 0; t < k - 1; ++t) sum += line[threadIdx.x * 8 + t];
  for (int j = 0; j < 8; ++j) {
    const int i = threadIdx.x * 8 + j;
    sum += line[i + k - 1];
    if (first + i < ow) y[(size_t)blockIdx.y * ow + first + i] = sum / k;
    sum -= line[i];
  }
}
