// cupilot: {"task": ["tests/hostile/tasks/twin_adam_step.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["p", "m", "v", "g", {"i32": "n"}]}]}}
// Moments and parameters in place; the moments do not depend on the parameters.
extern "C" __global__ void k(float* p, float* m, float* v, const float* g, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const float a = 0.9f * m[i] + 0.1f * g[i], b = 0.99f * v[i] + 0.01f * g[i] * g[i];
  m[i] = a, v[i] = b;
  p[i] -= 0.001f * a / (sqrtf(b) + 1.0e-6f);
}
