// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "z", "alpha", {"i32": "n"}]}]}}
// The product loses its last eight bits before the addition.
extern "C" __global__ void k(const float* x, const float* y, float* z, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  z[i] = __uint_as_float(__float_as_uint(alpha * x[i]) & 0xffffff00u) + y[i];
}
