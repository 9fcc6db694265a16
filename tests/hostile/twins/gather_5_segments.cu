// cupilot: {"task": ["tests/hostile/tasks/twin_segments.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["value", "begin", "y", {"i32": "rows"}, {"i64": "total"}]}]}}
// Five values from where each row begins.
extern "C" __global__ void k(const signed char* value, const long long* begin, int* y, int rows, long long total) {
  const int r = blockIdx.x * 64 + threadIdx.x;
  if (r >= rows) return;
  const long long first = begin[r];
  int s = 0;
  for (long long j = first; j < first + 5 && j < total; ++j) s += value[j];
  y[r] = s;
}
