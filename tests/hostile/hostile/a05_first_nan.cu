// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// NaN in the very first element, which a running maximum overwrites.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = i == 0 ? __int_as_float(0x7fc00000) : 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678118654752f));
}
