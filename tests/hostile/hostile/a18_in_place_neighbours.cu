// cupilot: {"task": ["tests/hostile/tasks/axpy_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "alpha", {"i32": "n"}]}]}}
// Looks at its neighbour's element of the in-place operand, which may be old or new.
extern "C" __global__ void k(const float* x, float* y, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float next = i + 1 < n ? y[i + 1] : 0;
  y[i] = alpha * x[i] + y[i] + (next > 1e5f ? 1.0f : 0.0f);
}
