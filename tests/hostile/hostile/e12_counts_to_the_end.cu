// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Ends after some centuries.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  unsigned long long c = 0;
  for (unsigned long long j = 0; j < 1ull << 62; ++j) c += ((volatile const float*)x)[0] > 0;
  if (i < n) y[i] = x[i] + (c == 1);
}
