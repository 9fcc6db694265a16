// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Header lines below the first line of code, and a kernel of that opinion.
constexpr int block = 256;
// cupilot: {"task": ["tests/hostile/tasks/never.json"]}
// cupilot: {"proved": true, "time_us": 0.001}
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n + block) y[i] = x[i];
}
