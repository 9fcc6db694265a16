// cupilot: {"task": ["tests/hostile/tasks/copy_huge.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "y", {"i64": "n"}]}]}}
// Places beyond 2^31 are negative.
extern "C" __global__ void k(const float* x, float* y, long long n) {
  for (int j = 0; j < 4; ++j) {
    const int i = blockIdx.x * 1024 + j * 256 + threadIdx.x;
    if (i < n) y[i] = x[i];
  }
}
