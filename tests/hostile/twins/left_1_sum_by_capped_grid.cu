// cupilot: {"task": ["tests/hostile/tasks/twin_ones_total.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "k", "grid": ["min(cdiv(n, 256), 65535)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Blocks go over the elements by strides of the grid and add their sums by atomics.
extern "C" __global__ void clear(int* y) { *y = 0; }
extern "C" __global__ void k(const int* x, int* y, int n) {
  int a = 0;
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) a += x[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x % 32 == 0) atomicAdd(y, a);
}
