// Batch norm in training mode: blocks add sums and squares of a channel by atomics, a second launch normalises.
// cupilot: {"plan": {"buffers": [{"name": "sums", "bytes": "channels * 16", "content": "zeroed"}], "launches": [{"entry": "statistics", "grid": ["channels", "outer"], "block": [64], "args": ["x", "sums", {"i32": "inner"}]}, {"entry": "normalise", "grid": ["channels", "outer"], "block": [64], "args": ["x", "sums", "y", {"i32": "inner"}, {"i32": "outer * inner"}]}]}}
// corpus: {"sizes": {"outer": 4, "channels": 5, "inner": 150}, "in": {"x": ["fp32", "outer", "channels", "inner", {"kind": "normal", "low": 1}]}, "out": {"y": ["fp32", "outer", "channels", "inner"]}, "expect": {"y": "batchnorm"}}
extern "C" __global__ void statistics(const float* x, double* sums, int inner) {
  x += (size_t)(blockIdx.y * gridDim.x + blockIdx.x) * inner;
  double sum = 0., squares = 0.;
  for (int i = threadIdx.x; i < inner; i += 64) sum += x[i], squares += (double)x[i] * x[i];
  for (int s = 16; s > 0; s >>= 1) {
    sum += __shfl_down_sync(~0u, sum, s);
    squares += __shfl_down_sync(~0u, squares, s);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(sums + 2 * blockIdx.x, sum);
    atomicAdd(sums + 2 * blockIdx.x + 1, squares);
  }
}

extern "C" __global__ void normalise(const float* x, const double* sums, float* y, int inner, int count) {
  const double mean = sums[2 * blockIdx.x] / count;
  const float scale = rsqrtf((float)(sums[2 * blockIdx.x + 1] / count - mean * mean) + 1e-5f);
  const size_t begin = (size_t)(blockIdx.y * gridDim.x + blockIdx.x) * inner;
  for (int i = threadIdx.x; i < inner; i += 64) y[begin + i] = (x[begin + i] - (float)mean) * scale;
}
