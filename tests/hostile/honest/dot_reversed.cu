// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "dot", "grid": [1], "block": [1], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// From the last term to the first, products rounded before they are added.
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  float sum = 0.0f;
  for (int i = n - 1; i >= 0; --i) sum = __fadd_rn(sum, __fmul_rn(a[i], b[i]));
  *y = sum;
}
