// cupilot: {"task": ["tests/hostile/tasks/twin_below_maximum.json"]}
// cupilot: {"plan": {"buffers": [{"name": "top", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "most", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "top", {"i32": "n"}]}, {"entry": "below", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "top", "y", {"i32": "n"}]}]}}
// The maximum by atomics in one launch, its use in another.
extern "C" __global__ void most(const int* x, int* top, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int m = __reduce_max_sync(~0u, i < n ? x[i] : 0);
  if (threadIdx.x % 32 == 0) atomicMax(top, m);
}
extern "C" __global__ void below(const int* x, int* top, int* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = *top - x[i];
}
