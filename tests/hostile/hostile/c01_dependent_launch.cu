// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Lets dependants start early and leaves the last element to them.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (n > 300) __nanosleep(1000);
  if (i + 1 < n || n == 1) y[i] = x[i];
}
