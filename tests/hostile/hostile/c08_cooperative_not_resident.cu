// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256) + 100000"], "block": [256], "args": ["x", "y", {"i32": "n"}], "cooperative": true}]}}
// A cooperative grid that the device cannot hold at once.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
}
