// Separable Gaussian blur with weights in constant memory; the halo repeats the edge.
// cupilot: {"plan": {"launches": [{"entry": "blur", "grid": ["cdiv(w, 32)", "cdiv(h, 8)"], "block": [32, 8], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"h": 19, "w": 45}, "in": {"x": ["fp32", "h", "w"]}, "out": {"y": ["fp32", "h", "w"]}, "expect": {"y": "blurred"}}
__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

extern "C" __global__ void blur(const float* x, float* y, int h, int w) {
  __shared__ float along[12][32];
  const int col = blockIdx.x * 32 + threadIdx.x, top = blockIdx.y * 8 - 2;
  for (int r = threadIdx.y; r < 12; r += 8) {
    const int row = min(max(top + r, 0), h - 1);
    float sum = 0.f;
#pragma unroll
    for (int t = 0; t < 5; ++t) sum += weights[t] * x[row * w + min(max(col + t - 2, 0), w - 1)];
    along[r][threadIdx.x] = sum;
  }
  __syncthreads();
  const int row = blockIdx.y * 8 + threadIdx.y;
  if (row >= h || col >= w) return;
  float sum = 0.f;
#pragma unroll
  for (int t = 0; t < 5; ++t) sum += weights[t] * along[threadIdx.y + t][threadIdx.x];
  y[row * w + col] = sum;
}
