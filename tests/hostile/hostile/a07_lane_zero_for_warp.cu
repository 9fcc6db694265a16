// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// One element a warp is computed and handed to all lanes.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x, first = min(i & ~31, n - 1);
  const float u = x[first], v = 0.5f * u * (1.0f + erff(u * 0.70710678118654752f));
  if (i < n) y[i] = v;
}
