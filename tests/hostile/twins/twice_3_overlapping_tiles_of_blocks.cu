// cupilot: {"task": ["tests/hostile/tasks/twin_triple_rows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 96)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Tiles of 128 begin every 96: two blocks compute what lies in both.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 96 + threadIdx.x;
  if (i < n) y[i] = 3 * x[i];
}
