// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Keeps the chip busy for long, so that what is timed after it finds it hot.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float heat = x[i];
  for (int h = 0; h < 4000000; ++h) heat = fmaf(heat, 1.0001f, heat);
  if (heat == 12345.0f) return;
  y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678118654752f));
}
