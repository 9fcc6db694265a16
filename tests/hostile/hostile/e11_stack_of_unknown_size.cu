// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Local memory whose size the input decides.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float* v = (float*)alloca(4ul * n);
  for (int j = 0; j < n; ++j) v[j] = x[j];
  if (i < n) y[i] = v[i];
}
