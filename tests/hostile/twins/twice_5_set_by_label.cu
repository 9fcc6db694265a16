// cupilot: {"task": ["tests/hostile/tasks/twin_seen_labels.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": ["cdiv(bins, 64)"], "block": [64], "args": ["y", {"i32": "bins"}]}, {"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// Every element marks its label; many mark the same.
extern "C" __global__ void clear(bool* y, int bins) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < bins) y[i] = false;
}
extern "C" __global__ void k(const int* x, bool* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[x[i]] = true;
}
