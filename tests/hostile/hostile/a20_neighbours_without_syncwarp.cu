// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Lanes exchange through shared memory without a word between.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  __shared__ float s[256];
  s[threadIdx.x ^ 1] = x[(i ^ 1) < n ? i ^ 1 : i];
  y[i] = s[threadIdx.x];
}
