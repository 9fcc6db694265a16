// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["min(cdiv(n, 256), 16)"], "block": [256], "args": ["x", "y", {"i64": "n"}]}]}}
extern "C" __global__ void copy(const float* x, float* y, long long n) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) y[i] = x[i];
}
