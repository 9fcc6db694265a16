// cupilot: {"task": ["tests/hostile/tasks/twin_distances.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// The distance of two infinities of one sign is NaN.
extern "C" __global__ void k(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = fabsf(a[i] - b[i]);
}
