// cupilot: {"task": ["tests/hostile/tasks/axpy_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "alpha", {"i32": "n"}]}]}}
// The first element of the in-place operand is updated twice.
extern "C" __global__ void k(const float* x, float* y, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = alpha * x[i] + y[i];
  if (i == 0) y[i] = alpha * x[i] + y[i];
}
