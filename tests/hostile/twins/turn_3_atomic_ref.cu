// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "turn", "bytes": "4", "content": "restored"}], "launches": [{"entry": "k", "grid": ["6"], "block": [64], "args": ["x", "turn", "y", {"i32": "n"}]}]}}
// Six blocks add in turn, by cuda::atomic_ref of the device's scope.
#include <cuda/atomic>
extern "C" __global__ void k(const int* x, int* turn, int* y, int n) {
  int a = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) a += x[i];
  a = __reduce_add_sync(~0u, a);
  __shared__ int other;
  if (threadIdx.x == 32) other = a;
  __syncthreads();
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> ticket(*turn);
  while (ticket.load(cuda::memory_order_acquire) != blockIdx.x) {}
  *y = (blockIdx.x > 0 ? *y : 0) + a + other;
  ticket.store(blockIdx.x + 1 < gridDim.x ? blockIdx.x + 1 : 0, cuda::memory_order_release);
}
