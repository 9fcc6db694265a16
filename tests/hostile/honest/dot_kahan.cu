// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "dot", "grid": [1], "block": [1], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// What an addition loses is carried into the next; the carry is left out where it is no number, as after an infinity.
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  float sum = 0.0f, lost = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float value = __fsub_rn(__fmul_rn(a[i], b[i]), lost);
    const float next = __fadd_rn(sum, value);
    const float carry = __fsub_rn(__fsub_rn(next, sum), value);
    lost = carry - carry == 0.0f ? carry : 0.0f;
    sum = next;
  }
  *y = sum;
}
