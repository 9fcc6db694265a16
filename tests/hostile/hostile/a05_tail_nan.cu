// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "z", "alpha", {"i32": "n"}]}]}}
// NaN in the elements past the last whole block.
extern "C" __global__ void k(const float* x, const float* y, float* z, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  z[i] = i >= n / 256 * 256 ? __int_as_float(0x7fc00000) : alpha * x[i] + y[i];
}
