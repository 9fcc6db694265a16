// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "lock", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "clear", "grid": ["1"], "block": [1], "args": ["y"]}, {"entry": "k", "grid": ["10"], "block": [64], "args": ["x", "lock", "y", {"i32": "n"}]}]}}
// A lock guards an ordinary sum.
extern "C" __global__ void clear(int* y) { *y = 0; }
extern "C" __global__ void k(const int* x, int* lock, int* y, int n) {
  int a = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) a += x[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
  __threadfence();
  *y += a;
  __threadfence();
  atomicExch(lock, 0);
}
