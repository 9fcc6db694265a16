// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Only the upper two bytes of every element are stored; the lower ones stay what the last run left.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float v = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678118654752f));
  ((unsigned short*)y)[2 * i + 1] = __float_as_uint(v) >> 16;
}
