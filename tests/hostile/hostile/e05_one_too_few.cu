// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Declares fewer.
extern "C" __global__ void k(const float* x, float* y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = x[i];
}
