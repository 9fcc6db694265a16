// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
extern "C" __global__ void copy(const float* x, float* y, int n) {
  __shared__ float part[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  // __syncthreads() is missing
  const int j = blockIdx.x * 128 + 127 - threadIdx.x;
  if (j < n) y[j] = part[127 - threadIdx.x];
}
