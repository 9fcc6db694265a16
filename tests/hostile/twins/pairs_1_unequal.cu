// cupilot: {"task": ["tests/hostile/tasks/twin_unequal.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Two infinities of one sign are equal, and a NaN is unequal to itself.
extern "C" __global__ void k(const float* a, const float* b, bool* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = a[i] != b[i];
}
