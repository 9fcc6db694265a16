// cupilot: {"task": ["tests/hostile/tasks/twin_group_of.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)", "channels"], "block": [64], "args": ["x", "s", "y", {"i32": "channels"}, {"i32": "n"}, {"i32": "groups"}]}]}}
// The group of a channel is a whole quotient.
extern "C" __global__ void k(const float* x, const float* s, float* y, int channels, int n, int groups) {
  const int i = blockIdx.x * 64 + threadIdx.x, c = blockIdx.y;
  if (i < n) y[c * n + i] = x[c * n + i] + s[c * groups / channels];
}
