// cupilot: {"task": ["tests/hostile/tasks/twin_two_steps.json"]}
// cupilot: {"plan": {"buffers": [{"name": "mid", "bytes": "n * 4"}], "launches": [{"entry": "a", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "mid", {"i32": "n"}]}, {"entry": "b", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "mid", "y", {"i32": "n"}]}]}}
// Threefold values by one launch, sums by the next.
extern "C" __global__ void a(const int* x, int* mid, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) mid[i] = x[i] * 3;
}
extern "C" __global__ void b(const int* x, const int* mid, int* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] + mid[n - 1 - i];
}
