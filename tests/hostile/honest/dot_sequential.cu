// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "dot", "grid": [1], "block": [1], "args": ["a", "b", "y", {"i32": "n"}]}]}}
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  *y = sum;
}
