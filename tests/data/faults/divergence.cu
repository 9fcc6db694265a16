// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
extern "C" __global__ void copy(const float* x, float* y, int n) {
  __shared__ float part[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (threadIdx.x % 32 < 16) {
    part[threadIdx.x] = 0.0f;
    __syncthreads();  // half of each warp is elsewhere
  }
  if (i < n) y[i] = x[i];
}
