// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "axpy", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "z", "alpha", {"i32": "n"}]}]}}
extern "C" __global__ void axpy(const float* x, const float* y, float* z, float alpha, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = alpha * x[i] + y[i];
}
