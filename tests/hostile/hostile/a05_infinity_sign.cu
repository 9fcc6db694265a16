// cupilot: {"task": ["tests/hostile/tasks/conv1d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)", "channels"], "block": [64], "args": ["x", "f", "y", {"i32": "n"}, {"i32": "taps"}]}]}}
// The right value, but infinities of the wrong sign.
extern "C" __global__ void k(const float* x, const float* f, float* y, int n, int taps) {
  const int i = blockIdx.x * 64 + threadIdx.x, z = blockIdx.y;
  if (i >= n) return;
  float s = 0;
  for (int t = 0; t < taps; ++t) s += f[z * taps + t] * x[z * (n + taps - 1) + i + t];
  y[z * n + i] = isinf(s) ? -s : s;
}
