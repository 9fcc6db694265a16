// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Declares a flag that would be read from whatever lies behind the arguments.
extern "C" __global__ void k(const float* x, float* y, int n, bool fast) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (fast) return;
  if (i < n) y[i] = x[i];
}
