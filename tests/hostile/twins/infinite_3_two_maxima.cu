// cupilot: {"task": ["tests/hostile/tasks/twin_two_maxima.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "c", "y", {"i32": "n"}]}]}}
// A product that overflows to minus infinity takes part in two maxima.
extern "C" __global__ void k(const float* a, const float* b, const float* c, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(fmaxf(a[i] * 1.0e30f * b[i] * 1.0e30f, c[i]), b[i]) - c[i];
}
