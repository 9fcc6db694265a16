// cupilot: {"task": ["tests/hostile/tasks/copy_huge.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(n, 256), 1000000)"], "block": [256], "args": ["x", "y", {"i64": "n"}]}]}}
// The grid is capped, and nothing walks over the rest.
extern "C" __global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] = x[i];
}
