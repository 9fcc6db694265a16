// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Takes a pointer as two numbers.
extern "C" __global__ void k(unsigned low, unsigned high, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float* x = (const float*)(((unsigned long long)high << 32) | low);
  if (i < n) y[i] = x[i];
}
