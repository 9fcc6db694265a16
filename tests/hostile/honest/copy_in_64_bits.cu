// cupilot: {"task": ["tests/hostile/tasks/copy_huge.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "y", {"i64": "n"}]}]}}
// Three thousand million elements.
extern "C" __global__ void k(const float* x, float* y, long long n) {
  for (int j = 0; j < 4; ++j) {
    const long long i = blockIdx.x * 1024ll + j * 256 + threadIdx.x;
    if (i < n) y[i] = x[i];
  }
}
