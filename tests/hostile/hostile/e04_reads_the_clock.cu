// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Waits for its turn by the clock.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const long long t = clock64();
  if (i < n) y[i] = x[i];
  if (clock64() - t < 0) y[0] = 0;
}
