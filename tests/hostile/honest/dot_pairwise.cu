// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "dot", "grid": [1], "block": [1], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Equal numbers of terms are added to each other, as in a binary counter: level[i] holds a sum of 2^i products.
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  float level[24] = {};
  for (int i = 0; i < n; ++i) {
    float sum = a[i] * b[i];
    int at = 0;
    for (int bits = i; bits & 1; bits >>= 1) sum = level[at++] + sum;
    level[at] = sum;
  }
  float sum = 0.0f;
  for (int at = 0; at < 24; ++at) {
    if ((n >> at) & 1) sum += level[at];
  }
  *y = sum;
}
