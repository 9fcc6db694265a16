// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["1"], "block": [32], "args": ["x", "y", {"i32": "n"}]}]}}
extern "C" __global__ void copy(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i];
  if (n > 4) reinterpret_cast<float4*>(y)[0] = *reinterpret_cast<const float4*>(x + 1);
}
