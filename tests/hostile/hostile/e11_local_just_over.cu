// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Local memory just over what is allowed.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float v[(64 << 8) + 64];
  for (int j = 0; j < n; ++j) v[j & 16383] = x[j];
  if (i < n) y[i] = v[i & 16383];
}
