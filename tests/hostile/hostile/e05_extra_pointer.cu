// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Declares one pointer more than the plan passes.
extern "C" __global__ void k(const float* x, float* y, int n, const float* secret) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = secret ? secret[i] : x[i];
}
