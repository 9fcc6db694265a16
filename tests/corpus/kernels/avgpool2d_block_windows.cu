// Average pooling whose windows do not overlap: a warp a window row, lanes add columns, shuffles fold each window.
// cupilot: {"plan": {"launches": [{"entry": "avgpool", "grid": ["w / kw", "h / kh", "n"], "block": [32], "args": ["x", "y", {"i32": "h"}, {"i32": "w"}, {"i32": "kh"}]}]}}
// corpus: {"sizes": {"n": 2, "h": 35, "w": 47, "kh": 11, "kw": 11, "sh": 11, "sw": 11}, "in": {"x": ["fp32", "n", "h", "w"]}, "out": {"y": ["fp32", "n", "h / kh", "w / kw"]}, "expect": {"y": "average_pool"}}
extern "C" __global__ void avgpool(const float* x, float* y, int h, int w, int k) {
  const float* corner = x + ((size_t)blockIdx.z * h + blockIdx.y * k) * w + blockIdx.x * k;
  float sum = 0.f;
  for (int i = threadIdx.x; i < k * k; i += 32) sum += corner[i / k * w + i % k];
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
  if (threadIdx.x == 0) y[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = sum / (k * k);
}
