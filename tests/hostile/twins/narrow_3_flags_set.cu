// cupilot: {"task": ["tests/hostile/tasks/twin_flags_set.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 2)"], "block": [2], "args": ["x", "f", {"i32": "n"}]}]}}
// Two flags a block, set where they must be.
extern "C" __global__ void k(const float* x, bool* f, int n) {
  const int i = blockIdx.x * 2 + threadIdx.x;
  if (i < n && x[i] > 1.0f) f[i] = true;
}
