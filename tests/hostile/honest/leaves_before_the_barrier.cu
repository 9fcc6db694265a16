// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 96)"], "block": [96], "args": ["x", "y", {"i32": "n"}]}]}}
// Threads past the end return before the barrier.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[96];
  const int i = blockIdx.x * 96 + threadIdx.x;
  if (i >= n) return;
  s[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = s[threadIdx.x];
}
