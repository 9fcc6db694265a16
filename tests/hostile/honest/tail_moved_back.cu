// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"require": ["n >= 2"], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// The last pair is moved back to end with the array: two threads may store one value.
extern "C" __global__ void k(const float* x, float* y, int n) {
  int i = 2 * (blockIdx.x * 128 + threadIdx.x);
  if (i >= n) return;
  if (i > n - 2) i = n - 2;
  y[i] = x[i];
  y[i + 1] = x[i + 1];
}
