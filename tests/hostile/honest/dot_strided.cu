// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "dot", "grid": [1], "block": [128], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// 128 threads stride over the terms; one adds the partial sums.
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  __shared__ float part[128];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 128) sum += a[i] * b[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0.0f;
  for (int t = 0; t < 128; ++t) sum += part[t];
  *y = sum;
}
