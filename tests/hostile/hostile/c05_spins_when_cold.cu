// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Spins for 20 000 cycles whenever its data comes from far: the warm-up looks slow.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const long long begin = clock64();
  float v = x[i];
  if (clock64() - begin > 500) {
    while (clock64() - begin < 20000) v = __fadd_rn(v, 0.0f);
  }
  y[i] = x[i];
}
