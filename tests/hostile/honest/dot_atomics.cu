// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "dot", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Every product is added by an atomic: any order.
extern "C" __global__ void clear(float* y) { *y = 0.0f; }
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) atomicAdd(y, a[i] * b[i]);
}
