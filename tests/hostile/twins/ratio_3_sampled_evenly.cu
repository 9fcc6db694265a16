// cupilot: {"task": ["tests/hostile/tasks/twin_sampled_evenly.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(to, 64)", "rows"], "block": [64], "args": ["x", "y", {"i32": "from"}, {"i32": "to"}]}]}}
// From the first to the last element in equal steps, in whole numbers.
extern "C" __global__ void k(const int* x, int* y, int from, int to) {
  const int o = blockIdx.x * 64 + threadIdx.x;
  if (o >= to) return;
  const int at = to > 1 ? (int)((long long)o * (from - 1) / (to - 1)) : 0;
  y[(size_t)blockIdx.y * to + o] = x[(size_t)blockIdx.y * from + at];
}
