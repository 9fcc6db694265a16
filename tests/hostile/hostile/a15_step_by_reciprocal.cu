// cupilot: {"task": ["tests/hostile/tasks/stretch_first.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(to, 64)", "rows"], "block": [64], "args": ["x", "y", {"i32": "from"}, {"i32": "to"}]}]}}
// One part of `to` is rounded before it is multiplied.
extern "C" __global__ void k(const float* x, float* y, int from, int to) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < to) y[(long long)blockIdx.y * to + i] = x[(long long)blockIdx.y * from + min((int)((float)((long long)i * from) * (1.0f / to)), from - 1)];
}
