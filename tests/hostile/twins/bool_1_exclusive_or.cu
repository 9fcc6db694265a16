// cupilot: {"task": ["tests/hostile/tasks/twin_xor.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// True where one of two is.
extern "C" __global__ void k(const bool* a, const bool* b, bool* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = a[i] != b[i];
}
