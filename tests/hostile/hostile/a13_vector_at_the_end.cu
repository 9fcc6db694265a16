// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "z", "alpha", {"i32": "n"}]}]}}
// A vector of zeros over the last whole group of the input.
extern "C" __global__ void k(float* x, const float* y, float* z, float alpha, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  z[i] = alpha * x[i] + y[i];
  if (i == (n & ~3) - 4) *(float4*)(x + i) = make_float4(0, 0, 0, 0);
}
