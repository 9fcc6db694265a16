// cupilot: {"task": ["tests/hostile/tasks/twin_dilated_peak.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The largest of three, three apart; a NaN stays.
__device__ float larger(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float a = x[i];
  if (i >= 3) a = larger(a, x[i - 3]);
  if (i < n - 3) a = larger(a, x[i + 3]);
  y[i] = a;
}
