// cupilot: {"task": ["tests/hostile/tasks/conv1d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)", "channels"], "block": [64], "args": ["x", "f", "y", {"i32": "n"}, {"i32": "taps"}]}]}}
// Reads an element of a thread's own array that it never wrote.
extern "C" __global__ void k(const float* x, const float* f, float* y, int n, int taps) {
  const int i = blockIdx.x * 64 + threadIdx.x, z = blockIdx.y;
  if (i >= n) return;
  volatile float kept[8];
  float s = 0;
  for (int t = 0; t < taps; ++t) s += f[z * taps + t] * x[z * (n + taps - 1) + i + t];
  kept[taps & 7] = s;
  y[z * n + i] = s + kept[(taps + i) & 7];
}
