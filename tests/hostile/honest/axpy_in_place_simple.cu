// cupilot: {"task": ["tests/hostile/tasks/axpy_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "axpy", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "alpha", {"i32": "n"}]}]}}
extern "C" __global__ void axpy(const float* x, float* y, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaf(alpha, x[i], y[i]);
}
