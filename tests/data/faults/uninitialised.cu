// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
extern "C" __global__ void copy(const float* x, float* y, int n) {
  __shared__ float part[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (threadIdx.x != 5 && i < n) part[threadIdx.x] = x[i];  // nobody writes part[5]
  __syncthreads();
  if (i < n) y[i] = part[threadIdx.x];
}
