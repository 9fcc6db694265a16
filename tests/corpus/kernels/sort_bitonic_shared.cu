// Rows sorted in shared memory by a bitonic network, exchanges within a warp by shuffles.
// cupilot: {"plan": {"launches": [{"entry": "sort", "grid": ["outer"], "block": [128], "args": ["x", "y"]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 128}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "sorted"}, "tolerance": 0}
extern "C" __global__ void sort(const float* x, float* y) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  float v = x[blockIdx.x * 128 + t];
  for (int size = 2; size <= 128; size <<= 1) {
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      float other;
      if (stride >= 32) {
        __syncthreads();
        s[t] = v;
        __syncthreads();
        other = s[t ^ stride];
      } else {
        other = __shfl_xor_sync(~0u, v, stride);
      }
      const bool ascending = (t & size) == 0 || size == 128, lower = (t & stride) == 0;
      v = ascending == lower ? fminf(v, other) : fmaxf(v, other);
    }
  }
  y[blockIdx.x * 128 + t] = v;
}
