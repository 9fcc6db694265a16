// cupilot: {"task": ["tests/hostile/tasks/twin_floor_div.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Quotients by seven rounded down.
extern "C" __global__ void k(const int* x, int* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const int d = x[i] - 500;
  y[i] = d >= 0 ? d / 7 : -((6 - d) / 7);
}
