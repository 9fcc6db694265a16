// cupilot: {"task": ["tests/hostile/tasks/axpy_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "alpha", {"i32": "n"}]}]}}
// Every hundredth element of the in-place operand gets its term twice.
extern "C" __global__ void k(const float* x, float* y, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float old = y[i];
  y[i] = alpha * x[i] + old + (old == old ? 0 : 1);
  if (i % 100 == 7) y[i] += alpha * x[i];
}
