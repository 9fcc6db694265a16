// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
extern "C" __global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = x[i];
  volatile float* seen = y;
  while (i == 3 && seen[i] != -12345.0f) {  // nobody ever writes it
  }
}
