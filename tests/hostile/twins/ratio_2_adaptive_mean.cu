// cupilot: {"task": ["tests/hostile/tasks/twin_adaptive_mean.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(to, 32)", "rows"], "block": [32], "args": ["x", "y", {"i32": "from"}, {"i32": "to"}]}]}}
// The bounds of each window are whole quotients.
extern "C" __global__ void k(const float* x, float* y, int from, int to) {
  const int o = blockIdx.x * 32 + threadIdx.x;
  if (o >= to) return;
  const int a = (long long)o * from / to, b = ((long long)(o + 1) * from + to - 1) / to;
  float s = 0;
  for (int c = a; c < b; ++c) s += x[(size_t)blockIdx.y * from + c];
  y[(size_t)blockIdx.y * to + o] = s / (b - a);
}
