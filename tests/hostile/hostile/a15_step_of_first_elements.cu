// cupilot: {"task": ["tests/hostile/tasks/stretch_first.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(to, 64)", "rows"], "block": [64], "args": ["x", "y", {"i32": "from"}, {"i32": "to"}]}]}}
// The step between elements is rounded to fp32.
extern "C" __global__ void k(const float* x, float* y, int from, int to) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < to) y[(long long)blockIdx.y * to + i] = x[(long long)blockIdx.y * from + min((int)(i * ((float)from / to)), from - 1)];
}
