// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "dot", "grid": [1], "block": [64], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Each thread takes a contiguous block of the terms.
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  __shared__ float part[64];
  const int each = (n + 63) / 64, begin = threadIdx.x * each;
  float sum = 0.0f;
  for (int i = begin; i < min(begin + each, n); ++i) sum += a[i] * b[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *y = part[0];
}
